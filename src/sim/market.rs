//! The market of devices, and where their users live.
//!
//! Shares are set after the weighted sample of 10,000 browsers in the npm package `user-agents` 2.1.198 (Intoli,
//! BSD-2-Clause): by screen size, which stands for the model, rounded to thousandths. Its commonest device is 23.4 % of
//! traffic. How much devices of one model differ is a choice: a phone or tablet model is nearly one image.

/// Where the user of a device lives, as the device shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locale {
    pub(super) timezone: &'static str,
    pub(super) language: &'static str,
}

/// Systems, with the versions in use and the browsers on them.
pub(super) struct Platform {
    pub(super) systems: &'static [&'static str],
    pub(super) browsers: &'static [&'static str],
    pub(super) agent: &'static str,
    pub(super) touch: &'static str,
    pub(super) depth: &'static str,
}

const IOS: Platform = Platform {
    systems: &["iOS 18.6", "iOS 18.5", "iOS 17.7"],
    browsers: &["Safari 18.6", "Safari 18.5"],
    agent: "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15",
    touch: "5",
    depth: "24",
};
const IPAD: Platform = Platform {
    systems: &["iPadOS 18.6"],
    browsers: &["Safari 18.6"],
    agent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15",
    touch: "5",
    depth: "24",
};
const ANDROID: Platform = Platform {
    systems: &["Android 15", "Android 14", "Android 13"],
    browsers: &["Chrome 138", "Chrome 137", "Samsung Internet 28"],
    agent: "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36",
    touch: "5",
    depth: "24",
};
pub(super) const WINDOWS: Platform = Platform {
    systems: &["Windows 11", "Windows 10"],
    browsers: &["Chrome 138", "Edge 138", "Chrome 137", "Firefox 140"],
    agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36",
    touch: "0",
    depth: "24",
};
const MACOS: Platform = Platform {
    systems: &["macOS 15.5", "macOS 14.7"],
    browsers: &["Safari 18.5", "Chrome 138", "Firefox 140"],
    agent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36",
    touch: "0",
    depth: "30",
};
const LINUX: Platform = Platform {
    systems: &["Linux 6"],
    browsers: &["Firefox 140", "Chrome 138"],
    agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
    touch: "0",
    depth: "24",
};

/// One line of the market: a screen size stands for a model.
pub(super) struct Model {
    /// Share of devices, in thousandths.
    pub(super) share: u64,
    pub(super) platform: &'static Platform,
    pub(super) screen: &'static str,
    pub(super) gpus: &'static [&'static str],
    pub(super) cores: &'static [&'static str],
    pub(super) memory: &'static [&'static str],
    /// How many font sets and canvas images occur among these.
    pub(super) variety: u32,
}

const APPLE_GPU: &[&str] = &["Apple GPU"];
const ADRENO: &[&str] = &["Adreno 740", "Adreno 650", "Mali-G78"];
pub(super) const DESKTOP_GPU: &[&str] = &[
    "Intel UHD 620",
    "Intel Iris Xe",
    "Intel UHD 770",
    "GeForce GTX 1650",
    "GeForce RTX 3060",
    "GeForce RTX 4060",
    "Radeon Vega 8",
    "Radeon RX 6600",
];
const MAC_GPU: &[&str] = &["Apple M1", "Apple M2", "Apple M3", "Intel Iris Plus"];

const fn phone(share: u64, screen: &'static str) -> Model {
    Model { share, platform: &IOS, screen, gpus: APPLE_GPU, cores: &["6"], memory: &["unknown"], variety: 1 }
}

const fn android(share: u64, screen: &'static str) -> Model {
    let memory = &["4", "8"];
    Model { share, platform: &ANDROID, screen, gpus: ADRENO, cores: &["8"], memory, variety: 4 }
}

const fn desktop(share: u64, platform: &'static Platform, screen: &'static str) -> Model {
    let (cores, memory): (&[&str], &[&str]) = (&["4", "8", "12", "16"], &["8", "16", "32"]);
    Model { share, platform, screen, gpus: DESKTOP_GPU, cores, memory, variety: 40 }
}

const fn mac(share: u64, screen: &'static str) -> Model {
    let memory = &["unknown"];
    Model { share, platform: &MACOS, screen, gpus: MAC_GPU, cores: &["8", "10"], memory, variety: 6 }
}

const TABLET: Model = Model {
    share: 234,
    platform: &IPAD,
    screen: "1366x1024",
    gpus: APPLE_GPU,
    cores: &["8"],
    memory: &["unknown"],
    variety: 1,
};

pub(super) const MARKET: [Model; 33] = [
    TABLET,
    phone(82, "402x874"),
    phone(74, "393x852"),
    phone(62, "390x844"),
    phone(56, "414x896"),
    phone(46, "440x956"),
    phone(31, "430x932"),
    phone(12, "428x926"),
    phone(8, "375x812"),
    phone(4, "375x667"),
    android(30, "384x832"),
    android(24, "360x780"),
    android(18, "412x892"),
    android(14, "412x915"),
    android(12, "360x800"),
    android(8, "448x998"),
    android(8, "393x873"),
    desktop(72, &WINDOWS, "1920x1080"),
    desktop(22, &WINDOWS, "1536x864"),
    desktop(20, &WINDOWS, "2560x1440"),
    desktop(10, &WINDOWS, "1366x768"),
    desktop(10, &WINDOWS, "1280x720"),
    desktop(8, &WINDOWS, "1536x960"),
    desktop(4, &WINDOWS, "1707x1067"),
    mac(34, "1440x900"),
    mac(28, "1470x956"),
    mac(16, "1512x982"),
    mac(10, "1710x1107"),
    mac(6, "1728x1117"),
    mac(8, "1920x1080"),
    desktop(12, &LINUX, "1920x1080"),
    desktop(10, &LINUX, "1366x768"),
    desktop(7, &LINUX, "2560x1440"),
];
/// First model of `MARKET` that is a desktop computer.
pub(super) const FIRST_DESKTOP: usize = 17;

/// Locales of the simulated platform's audience, by weight: one home country, some neighbours. A choice.
pub(super) const LOCALES: [(u64, Locale); 8] = [
    (640, Locale { timezone: "Europe/Berlin", language: "de-DE" }),
    (80, Locale { timezone: "Europe/Berlin", language: "en-GB" }),
    (70, Locale { timezone: "Europe/Vienna", language: "de-AT" }),
    (60, Locale { timezone: "Europe/Zurich", language: "de-CH" }),
    (50, Locale { timezone: "Europe/Berlin", language: "tr-TR" }),
    (40, Locale { timezone: "Europe/London", language: "en-GB" }),
    (30, Locale { timezone: "America/New_York", language: "en-US" }),
    (30, Locale { timezone: "Europe/Warsaw", language: "pl-PL" }),
];
