import { render } from "preact";
import { createActions } from "./actions.js";
import { App } from "./App.jsx";
import { createStore } from "./store.js";
import "./app.css";

// The token is a cookie now, and need not stay in the address.
history.replaceState(null, "", "/");

const store = createStore();
const actions = createActions(store);
render(<App store={store} actions={actions} />, document.getElementById("app"));
actions.begin();
