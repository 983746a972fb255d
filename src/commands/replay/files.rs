//! Where lines come from and decisions go to.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;

use crate::cli::FileOrStandard;
use crate::commands::{Failure, reading};

/// Lines to be read.
pub(super) struct Input {
    /// For messages.
    pub(super) name: String,
    /// The bytes.
    pub(super) from: Box<dyn Read>,
    /// How many bytes; `None` where that is not known.
    pub(super) length: Option<u64>,
}

/// Where decisions go to.
pub(super) struct Output {
    /// For messages.
    pub(super) name: String,
    /// Takes the bytes.
    pub(super) to: Named,
}

/// A writer whose faults can be told from those of the input.
pub(super) struct Named(Box<dyn Write>);

/// A fault of the output, inside an [`io::Error`] of the same kind.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct OutputFault(io::Error);

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| io::Error::new(error.kind(), OutputFault(error)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| io::Error::new(error.kind(), OutputFault(error)))
    }
}

pub(super) fn open(input: &FileOrStandard) -> Result<Input, Failure> {
    let FileOrStandard::File(path) = input else {
        return Ok(Input { name: "stdin".to_owned(), from: Box::new(io::stdin().lock()), length: None });
    };
    let name = path.display().to_string();
    if name.ends_with(reading::ARCHIVE) {
        return Ok(Input { name, from: reading::archive(path)?, length: None });
    }
    let failed = |error: io::Error| Failure::new(format!("input {name}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_dir() {
        return Err(Failure::new(format!("input {name}: is a directory")));
    }
    Ok(Input { name, from: Box::new(file), length: about.is_file().then_some(about.len()) })
}

/// Makes or empties the output; never the input's own file.
pub(super) fn create(output: &FileOrStandard, input: &FileOrStandard) -> Result<Output, Failure> {
    let FileOrStandard::File(path) = output else {
        return Ok(Output { name: "stdout".to_owned(), to: Named(Box::new(io::stdout().lock())) });
    };
    let name = path.display().to_string();
    if let (FileOrStandard::File(input), Ok(about)) = (input, fs::metadata(path))
        && fs::metadata(input).is_ok_and(|other| same(&about, &other))
    {
        return Err(Failure::of_usage(format!("output {name} is the input itself")));
    }
    match File::create(path) {
        Ok(file) => Ok(Output { name, to: Named(Box::new(file)) }),
        Err(error) => Err(Failure::new(format!("output {name}: {error}"))),
    }
}

fn same(one: &Metadata, other: &Metadata) -> bool {
    one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The words for a replay that could not be finished.
pub(super) fn failed(error: &io::Error, input: &str, output: &str) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<OutputFault>()) {
        Some(OutputFault(inner)) => Failure::of_output(&format!("output {output}"), inner),
        None => Failure::new(format!("input {input}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit;

    /// Refuses everything.
    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_fault_is_told_of_the_right_side() {
        let fault = |kind| Named(Box::new(Broken(kind))).write(b"x").expect_err("it is broken");
        let full = failed(&fault(io::ErrorKind::StorageFull), "in", "out");
        assert!(full.text.starts_with("error: output out: "), "{}", full.text);
        let gone = failed(&fault(io::ErrorKind::BrokenPipe), "in", "out");
        assert_eq!((gone.code, gone.text.as_str()), (exit::OK, ""));
        let unread = failed(&io::ErrorKind::UnexpectedEof.into(), "in", "out");
        assert!(unread.text.starts_with("error: input in: "), "{}", unread.text);
    }

    #[test]
    fn the_input_is_never_overwritten() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (path, link) = (dir.path().join("a.jsonl"), dir.path().join("b.jsonl"));
        fs::write(&path, "x").expect("writable");
        fs::hard_link(&path, &link).expect("the same file system");
        let (input, output) = (FileOrStandard::File(path.clone()), FileOrStandard::File(link));
        let failure = create(&output, &input).err().expect("it is the input");
        assert_eq!(failure.code, exit::USAGE);
        assert_eq!(fs::read(&path).expect("readable"), b"x");
    }
}
