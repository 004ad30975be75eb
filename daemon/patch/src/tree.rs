//! What planning asks of the files: which file a path means, what it is, and its bytes.

use std::{fmt::Debug, hash::Hash, sync::Arc};

/// The files as they are before the patch. The caller confines: a path that it does not want touched is its error.
pub trait Tree {
    /// A name in a folder, with every link on the way to it followed and the last component itself not. Two spellings
    /// of one name have equal keys, also in a folder that ignores case. Need not exist.
    type Key: Clone + Debug + Eq + Hash + Ord;
    /// Why a path must not, or cannot, be looked at.
    type Error;

    /// The name that a path of the patch means. `..` and `.` are taken lexically. Components that do not exist, or are
    /// no folders, are no error here: an earlier operation may have changed that.
    fn locate(&mut self, path: &str) -> Result<Located<Self::Key>, Self::Error>;

    /// What is at a name. A name below something that is no folder is absent.
    fn kind(&mut self, key: &Self::Key) -> Result<Kind, Self::Error>;

    /// The bytes of a file.
    fn read(&mut self, key: &Self::Key) -> Result<Arc<[u8]>, Self::Error>;

    /// The folder that a name is in; none for the top, which exists.
    fn parent(&self, key: &Self::Key) -> Option<Self::Key>;

    /// Whether the plan is not wanted any more; asked between hunks.
    fn stopped(&self) -> bool {
        false
    }
}

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<K> {
    /// The name itself.
    pub entry: K,
    /// Where it leads to, followed to the end, if it is a symbolic link.
    pub link: Option<K>,
    /// The names of symbolic links to folders that were followed on the way.
    pub through: Vec<K>,
}

/// What is at a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Device and inode, or what else tells whether two names are one file. None if nothing does.
        identity: Option<(u64, u64)>,
    },
    /// A folder.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device, by this word.
    Special(&'static str),
}
