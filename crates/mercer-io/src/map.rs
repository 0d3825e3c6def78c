//! NPY files mapped into memory.

use std::fs::File;

use memmap2::Mmap;
use mercer::PointsRef;

use crate::content::Location;
use crate::error::{Error, Result};
use crate::formats::npy::{Header, Plain};
use crate::source::Stamp;

/// An NPY file of `float64` or `float32` rows, mapped into memory: the system reads pages when they are used,
/// and drops them when it needs the memory.
#[derive(Debug)]
pub struct MappedNpy {
    name: String,
    stamp: Stamp,
    map: Mmap,
    n: usize,
    d: usize,
    kind: Plain,
    data: std::ops::Range<usize>,
}

/// The points of a mapped file, in the type that the file has.
#[derive(Clone, Copy, Debug)]
pub enum MappedPoints<'a> {
    /// Of `float64`.
    F64(PointsRef<'a, f64>),
    /// Of `float32`.
    F32(PointsRef<'a, f32>),
}

impl MappedNpy {
    /// Maps a file. Its size is compared with its header; its values are not checked.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or holds another type or another order of values.
    pub fn open(name: &str) -> Result<Self> {
        let content = Location::File(name.into()).content().map_err(Error::io(name, "read"))?;
        let header = Header::read(name, &content)?;
        let Some(kind) = header.plain_type() else {
            let what = "cannot be mapped: the values are not rows of little-endian float64 or float32";
            return Err(Error::advised(name, what, "save it with numpy.save, in C order"));
        };
        let file = File::open(name).map_err(Error::io(name, "read"))?;
        let stamp = Stamp::of(&file.metadata().map_err(Error::io(name, "read"))?);
        let map = map(&file).map_err(Error::io(name, "mapped"))?;
        let short = || Error::damaged(name, "NPY", "it became shorter while it was read");
        let start = usize::try_from(header.offset).map_err(|_| short())?;
        let end = usize::try_from(header.offset + header.data_bytes()).map_err(|_| short())?;
        let data = start..end;
        let aligned = match (kind, map.get(data.clone()).ok_or_else(short)?) {
            (Plain::F64, bytes) => bytemuck::try_cast_slice::<u8, f64>(bytes).is_ok(),
            (Plain::F32, bytes) => bytemuck::try_cast_slice::<u8, f32>(bytes).is_ok(),
        };
        if !aligned {
            let what = format!("cannot be mapped: the data begins at byte {start}, which is not aligned");
            return Err(Error::advised(name, what, "save it with numpy.save"));
        }
        let n = usize::try_from(header.n).map_err(|_| short())?;
        Ok(MappedNpy { name: name.into(), stamp, map, n, d: header.d, kind, data })
    }

    /// Checks that the file is as it was when it was mapped.
    ///
    /// # Errors
    /// When it was replaced, written to, or has another length.
    pub fn check_unchanged(&self) -> Result<()> {
        self.stamp.check(&self.name)
    }

    /// Number of points.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of dimensions.
    pub fn d(&self) -> usize {
        self.d
    }

    /// The points. Values may be missing or infinite.
    pub fn points(&self) -> MappedPoints<'_> {
        let (bytes, checked) = (&self.map[self.data.clone()], "sizes were compared when the file was opened");
        match self.kind {
            Plain::F64 => {
                MappedPoints::F64(PointsRef::new(bytemuck::cast_slice(bytes), self.n, self.d).expect(checked))
            }
            Plain::F32 => {
                MappedPoints::F32(PointsRef::new(bytemuck::cast_slice(bytes), self.n, self.d).expect(checked))
            }
        }
    }
}

/// From now on, the process ends with a message and exit code 1 when a part of a mapped file is read that was cut off
/// meanwhile. Without this the system ends it by the signal SIGBUS. For programs, not for libraries.
pub fn exit_on_lost_pages() {
    #[cfg(unix)]
    #[allow(unsafe_code)]
    {
        extern "C" fn lost(_: libc::c_int) {
            const MESSAGE: &[u8] = b"error: a mapped file became shorter while it was read; nothing was written\n";
            // SAFETY: both may be called in a handler of a signal, and the bytes are constant.
            unsafe {
                libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(1);
            }
        }
        // SAFETY: the handler has the type that `signal` takes, and calls nothing but the two functions above.
        unsafe { libc::signal(libc::SIGBUS, lost as *const () as libc::sighandler_t) };
    }
}

#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is only read, and any bytes are valid numbers. Another process can change the file, as with every
    // map of a file: writing to it changes the numbers, which `check_unchanged` finds, and truncating it ends this
    // process when a missing page is read. No other memory is reached either way. Files of this project are replaced,
    // never overwritten.
    unsafe { Mmap::map(file) }
}
