//! NPY files mapped into memory.

use std::fs::File;

use memmap2::Mmap;
use mercer::PointsRef;

use crate::content::Location;
use crate::error::{Error, Result};
use crate::formats::npy::{Header, Plain};

/// An NPY file of `float64` or `float32` rows, mapped into memory: the system reads pages as they are looked at, and
/// forgets them when it needs the memory.
#[derive(Debug)]
pub struct MappedNpy {
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
    /// Maps a file. Its sizes are compared with its header; its values are not looked at.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or holds another type or another order of values.
    pub fn open(name: &str) -> Result<Self> {
        let content = Location::File(name.into()).content().map_err(Error::io(name, "read"))?;
        let header = Header::read(name, &content)?;
        let Some(kind) = header.as_it_is() else {
            let what = "cannot be mapped: the values are not rows of little-endian float64 or float32";
            return Err(Error::advised(name, what, "save it with numpy.save, in C order"));
        };
        let map = map(&File::open(name).map_err(Error::io(name, "read"))?).map_err(Error::io(name, "mapped"))?;
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
        Ok(MappedNpy { map, n, d: header.d, kind, data })
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

#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is only read, and any bytes are valid numbers. That nobody else changes the file meanwhile cannot
    // be made sure of, as for every map of a file: who writes to it changes the numbers that are seen, and who
    // truncates it makes the system end this process (SIGBUS) when a page that is gone is looked at. No memory of
    // anybody else's is reached either way. Files of this project are replaced, never written over.
    unsafe { Mmap::map(file) }
}
