//! The standard policy, carried in the binary so that it runs without files.

/// The files of the standard policy.
pub fn files() -> Vec<(String, String)> {
    FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

const FILES: [(&str, &str); 8] = [
    ("addresses.csv", include_str!("../../config/policy/addresses.csv")),
    ("limits.yaml", include_str!("../../config/policy/limits.yaml")),
    ("observation.yaml", include_str!("../../config/policy/observation.yaml")),
    ("policy.yaml", include_str!("../../config/policy/policy.yaml")),
    ("rules-crowd.yaml", include_str!("../../config/policy/rules-crowd.yaml")),
    ("rules-evidence.yaml", include_str!("../../config/policy/rules-evidence.yaml")),
    ("rules-probing.yaml", include_str!("../../config/policy/rules-probing.yaml")),
    ("signals.yaml", include_str!("../../config/policy/signals.yaml")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    #[test]
    fn the_standard_policy_loads_without_a_warning() {
        match load(&files()) {
            Ok(loaded) => {
                let told: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
                assert!(told.is_empty(), "{}", told.join("\n"));
            }
            Err(problems) => {
                let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
                panic!("{}", told.join("\n"));
            }
        }
    }

    /// Every policy file of the repository is carried.
    #[test]
    fn no_file_is_forgotten() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("config/policy");
        assert_eq!(super::super::policy_dir::read_dir(&dir).unwrap(), files());
    }
}
