import { render } from "preact";
import { createActions } from "./actions.js";
import { keepToken } from "./api.js";
import { App } from "./App.jsx";
import { createStore } from "./store.js";
import "./app.css";

keepToken();
// An address with another token, opened in the same tab, changes the fragment only.
addEventListener("hashchange", () => location.reload());

const store = createStore();
const actions = createActions(store);
render(<App store={store} actions={actions} />, document.getElementById("app"));
actions.begin();
