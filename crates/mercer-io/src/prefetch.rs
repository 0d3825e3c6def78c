//! Reading ahead on a thread.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Bytes of a block, and blocks that wait to be read.
const BLOCK: usize = 1 << 20;
const WAITING: usize = 4;

/// A reader whose bytes are fetched by a thread of its own, so that decompressing overlaps parsing.
pub(crate) struct Prefetch {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    used: usize,
}

impl Prefetch {
    /// Starts the thread. It ends with the reader, or soon after this is dropped.
    pub(crate) fn new(mut reader: Box<dyn Read + Send>, name: &str) -> io::Result<Self> {
        let (sender, blocks) = sync_channel(WAITING);
        thread::Builder::new().name(name.into()).spawn(move || {
            loop {
                let mut block = Vec::with_capacity(BLOCK);
                let read = (&mut reader).take(BLOCK as u64).read_to_end(&mut block);
                let ended = read.is_err() || block.is_empty();
                // The bytes before an error are sent first.
                let received = (block.is_empty() || sender.send(Ok(block)).is_ok())
                    && read.map_or_else(|e| sender.send(Err(e)).is_ok(), |_| true);
                if ended || !received {
                    break;
                }
            }
        })?;
        Ok(Prefetch { blocks, block: Vec::new(), used: 0 })
    }
}

impl Read for Prefetch {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.block.len() {
            // No more blocks: the end.
            let Ok(block) = self.blocks.recv() else { return Ok(0) };
            (self.block, self.used) = (block?, 0);
        }
        let count = into.len().min(self.block.len() - self.used);
        into[..count].copy_from_slice(&self.block[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}
