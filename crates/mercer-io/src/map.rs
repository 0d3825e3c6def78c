//! NPY files mapped into memory.

use std::fs::File;

use memmap2::Mmap;
use mercer::PointsRef;

use crate::content::Location;
use crate::error::{Error, Result};
use crate::formats::npy::{Header, Plain};

/// An NPY file of `float64` or `float32` rows, mapped into memory: the system reads pages when they are used,
/// and drops them when it needs the memory.
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
    // SAFETY: the map is only read, and any bytes are valid numbers. Another process can change the file, as with every
    // map of a file: writing to it changes the numbers, and truncating it ends this process (SIGBUS) when a missing page
    // is read. No other memory is reached either way. Files of this project are replaced, never overwritten.
    unsafe { Mmap::map(file) }
}
