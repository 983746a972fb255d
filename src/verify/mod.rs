//! Is what was told right? A reference model of the engine, and a checker of the history that topics hold.
//!
//! Pure: it reads no topic and no clock. It shares nouns with the engine and the wire, and none of the engine's
//! workings, so that a mistake there is not repeated here.

pub mod history;
pub mod model;
