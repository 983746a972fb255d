//! Compiled expressions against CEL's own interpreter, on generated expressions and events.
//!
//! "Unknown" in the compiled form must be an error in the interpreter, and the other way round.

use std::collections::BTreeMap;
use std::sync::Arc;

use ipnet::IpNet;
use proptest::prelude::*;
use proptest::sample::select;
use weir::engine::expr::catalogue::{Catalogue, name};
use weir::engine::expr::check::{Scope, check};
use weir::engine::expr::interpret::{Answer, Interpreted};
use weir::engine::expr::parse::parse;
use weir::engine::expr::tree::Typed;
use weir::engine::expr::{Slot, Type, compile};
use weir::engine::policy::Origin;

const TEXTS: [&str; 14] = [
    "",
    "like",
    "Like",
    "é",
    "12",
    "-3.5",
    "success",
    "u1",
    "192.0.2.7",
    "2001:db8::/64",
    "::1",
    "1e400",
    "nan",
    "liké",
];
const INTS: [i64; 12] = [0, 1, 2, 3, -1, -7, 60, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN, i64::MAX - 1];
const DOUBLES: [f64; 12] =
    [0.0, -0.0, 1.0, 2.5, -2.5, 60.0, 9_007_199_254_740_992.0, 9.3e18, -9.3e18, 1e308, 5e-324, 1e-9];

/// The names of the test, with all four types and all origins.
struct World {
    catalogue: Catalogue,
    lists: BTreeMap<String, Arc<[String]>>,
    networks: BTreeMap<String, Arc<[IpNet]>>,
}

impl World {
    fn new() -> Self {
        let mut catalogue = Catalogue::standard();
        let attributes = [("b", Type::Bool), ("i", Type::Int), ("d", Type::Double), ("t", Type::Text)];
        for (attribute, ty) in attributes {
            let path = format!("event.attributes.{attribute}");
            assert!(catalogue.add(name(&path, ty, "", "", Origin::Attribute(attribute.into()))));
        }
        assert!(catalogue.add(name("device.os", Type::Text, "", "", Origin::DeviceAttribute("os".into()))));
        for (index, (signal, ty)) in
            [("likes_1m", Type::Int), ("crowd_1m", Type::Int), ("spent", Type::Double)]
                .into_iter()
                .enumerate()
        {
            assert!(catalogue.add(name(signal, ty, "", "", Origin::Signal(index))));
        }
        let list: Arc<[String]> = ["like", "é"].map(str::to_owned).to_vec().into();
        let office: Vec<IpNet> =
            ["192.0.2.0/24", "2001:db8::/32"].iter().map(|text| text.parse().expect("a network")).collect();
        Self {
            catalogue,
            lists: BTreeMap::from([("actions".to_owned(), list), ("none".to_owned(), Vec::new().into())]),
            networks: BTreeMap::from([("office".to_owned(), office.into())]),
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope { catalogue: &self.catalogue, lists: &self.lists, networks: &self.networks, signals: true }
    }

    fn names_of(&self, ty: Type) -> Vec<String> {
        self.catalogue.names().iter().filter(|name| name.ty == ty).map(|name| name.path.clone()).collect()
    }

    fn dotted(&self) -> Vec<String> {
        let paths = self.catalogue.names().iter().map(|name| name.path.clone());
        paths.filter(|path| path.contains('.')).collect()
    }
}

/// A value of a slot; a third of them unknown.
fn slot(ty: Type) -> BoxedStrategy<Slot<'static>> {
    let known = match ty {
        Type::Bool => any::<bool>().prop_map(Slot::Bool).boxed(),
        Type::Int => select(&INTS[..]).prop_map(Slot::Int).boxed(),
        Type::Double => select(&DOUBLES[..]).prop_map(Slot::Double).boxed(),
        Type::Text => select(&TEXTS[..]).prop_map(Slot::Text).boxed(),
    };
    prop_oneof![1 => Just(Slot::Unknown), 2 => known].boxed()
}

fn events(world: &World) -> BoxedStrategy<Vec<Vec<Slot<'static>>>> {
    let slots: Vec<BoxedStrategy<Slot<'static>>> =
        world.catalogue.names().iter().map(|name| slot(name.ty)).collect();
    prop::collection::vec(slots, 8).boxed()
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn literal(ty: Type) -> BoxedStrategy<String> {
    match ty {
        Type::Bool => any::<bool>().prop_map(|value| value.to_string()).boxed(),
        Type::Int => select(&INTS[..]).prop_map(|value| value.to_string()).boxed(),
        Type::Double => select(&DOUBLES[..]).prop_map(|value| format!("{value:?}")).boxed(),
        Type::Text => select(&TEXTS[..]).prop_map(quoted).boxed(),
    }
}

fn leaf(world: &World, ty: Type) -> BoxedStrategy<String> {
    prop_oneof![1 => literal(ty), 3 => select(world.names_of(ty))].boxed()
}

/// Well-typed texts of each type, by nesting.
struct Texts {
    bool: BoxedStrategy<String>,
    int: BoxedStrategy<String>,
    double: BoxedStrategy<String>,
    text: BoxedStrategy<String>,
}

fn texts(world: &World, depth: u32) -> Texts {
    if depth == 0 {
        let leaf = |ty| leaf(world, ty);
        return Texts {
            bool: leaf(Type::Bool),
            int: leaf(Type::Int),
            double: leaf(Type::Double),
            text: leaf(Type::Text),
        };
    }
    let inner = texts(world, depth - 1);
    Texts {
        bool: bool_text(world, &inner),
        int: int_text(world, &inner),
        double: double_text(world, &inner),
        text: text_text(world, &inner),
    }
}

fn choice(test: &BoxedStrategy<String>, branch: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    (test.clone(), branch.clone(), branch.clone())
        .prop_map(|(test, yes, no)| format!("({test} ? {yes} : {no})"))
        .boxed()
}

fn binary(
    a: &BoxedStrategy<String>,
    operators: &'static [&'static str],
    b: &BoxedStrategy<String>,
) -> BoxedStrategy<String> {
    (a.clone(), select(operators), b.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")).boxed()
}

fn bool_text(world: &World, inner: &Texts) -> BoxedStrategy<String> {
    const ORDER: &[&str] = &["==", "!=", "<", "<=", ">", ">="];
    let number = prop_oneof![inner.int.clone(), inner.double.clone()].boxed();
    let part = (inner.text.clone(), select(&["startsWith", "endsWith", "contains"][..]), inner.text.clone());
    let items = prop::collection::vec(literal(Type::Text), 1..4);
    let numbers = prop::collection::vec(literal(Type::Int), 1..4);
    let doubles = prop::collection::vec(literal(Type::Double), 1..4);
    prop_oneof![
        2 => leaf(world, Type::Bool),
        4 => binary(&inner.bool, &["&&", "||"], &inner.bool),
        2 => prop::collection::vec(inner.bool.clone(), 3..5).prop_map(|parts| format!("({})", parts.join(" && "))),
        2 => prop::collection::vec(inner.bool.clone(), 3..5).prop_map(|parts| format!("({})", parts.join(" || "))),
        2 => inner.bool.clone().prop_map(|inner| format!("!({inner})")),
        1 => choice(&inner.bool, &inner.bool),
        4 => binary(&number, ORDER, &number),
        2 => binary(&inner.text, &["==", "!="], &inner.text),
        1 => binary(&inner.bool, &["==", "!="], &inner.bool),
        2 => select(world.dotted()).prop_map(|path| format!("has({path})")),
        1 => part.prop_map(|(a, function, b)| format!("{}.{function}({b})", wrapped(&a))),
        1 => (inner.text.clone(), items).prop_map(|(text, items)| format!("({text} in [{}])", items.join(", "))),
        1 => (number.clone(), numbers).prop_map(|(number, items)| format!("({number} in [{}])", items.join(", "))),
        1 => (number, doubles).prop_map(|(number, items)| format!("({number} in [{}])", items.join(", "))),
        1 => (inner.text.clone(), select(&["actions", "none"][..]))
            .prop_map(|(text, list)| format!("({text} in lists.{list})")),
        1 => inner.text.clone().prop_map(|text| format!("in_network({text}, networks.office)")),
        1 => (inner.text.clone(), select(&["^l.*e$", "[0-9]+", "(?i)LIKE", "\\\\p{L}"][..]))
            .prop_map(|(text, pattern)| format!("{}.matches('{pattern}')", wrapped(&text))),
    ]
    .boxed()
}

fn wrapped(text: &str) -> String {
    format!("({text})")
}

fn int_text(world: &World, inner: &Texts) -> BoxedStrategy<String> {
    prop_oneof![
        3 => leaf(world, Type::Int),
        3 => binary(&inner.int, &["+", "-", "*", "/", "%"], &inner.int),
        1 => inner.int.clone().prop_map(|inner| format!("(-({inner}))")),
        1 => choice(&inner.bool, &inner.int),
        1 => inner.text.clone().prop_map(|text| format!("size({text})")),
        1 => inner.text.clone().prop_map(|text| format!("({text}).size()")),
        1 => inner.double.clone().prop_map(|double| format!("int({double})")),
        1 => inner.text.clone().prop_map(|text| format!("int({text})")),
        1 => (select(&["days", "hours", "minutes", "seconds"][..]), inner.int.clone())
            .prop_map(|(unit, number)| format!("{unit}({number})")),
    ]
    .boxed()
}

fn double_text(world: &World, inner: &Texts) -> BoxedStrategy<String> {
    prop_oneof![
        3 => leaf(world, Type::Double),
        3 => binary(&inner.double, &["+", "-", "*", "/"], &inner.double),
        1 => inner.double.clone().prop_map(|inner| format!("(-({inner}))")),
        1 => choice(&inner.bool, &inner.double),
        1 => inner.int.clone().prop_map(|int| format!("double({int})")),
        1 => inner.text.clone().prop_map(|text| format!("double({text})")),
    ]
    .boxed()
}

fn text_text(world: &World, inner: &Texts) -> BoxedStrategy<String> {
    prop_oneof![4 => leaf(world, Type::Text), 1 => choice(&inner.bool, &inner.text)].boxed()
}

/// Refusals that depend on constants: an overflow that is the same for every event is told at load.
fn is_constant_fault(message: &str) -> bool {
    message.contains("overflows") || message.contains("division by zero")
}

/// `None` where the loader refuses the text for a constant fault.
fn compiled(text: &str, world: &World) -> Option<Typed> {
    let checked = parse(text).and_then(|parsed| check(&parsed, world.scope()));
    match checked {
        Ok(checked) => Some(checked.tree),
        Err(flaws) => {
            assert!(flaws.iter().all(|flaw| is_constant_fault(&flaw.message)), "{text}: {flaws:?}");
            None
        }
    }
}

fn answer_of(tree: &Typed, slots: &[Slot<'_>]) -> Answer {
    match tree {
        Typed::Bool(tree) => compile::condition(tree)(slots).map_or(Answer::Unknown, Answer::Bool),
        other => {
            let number = compile::number(other).expect("a number");
            number(slots).map_or(Answer::Unknown, Answer::Number)
        }
    }
}

fn agree(text: &str, rows: &[Vec<Slot<'static>>], world: &World) -> Result<(), TestCaseError> {
    let Some(tree) = compiled(text, world) else {
        return Ok(());
    };
    let interpreted = Interpreted::new(text).expect("CEL");
    for row in rows {
        let (ours, theirs) = (answer_of(&tree, row), interpreted.eval(row, world.scope()));
        prop_assert_eq!(&ours, &theirs, "{} on {:?}", text, row);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn conditions_agree(text in texts(&World::new(), 3).bool, rows in events(&World::new())) {
        agree(&text, &rows, &World::new())?;
    }

    #[test]
    fn numbers_agree(
        text in prop_oneof![texts(&World::new(), 3).int, texts(&World::new(), 3).double],
        rows in events(&World::new()),
    ) {
        agree(&text, &rows, &World::new())?;
    }
}

/// The table of Kleene's logic, as CEL's error-absorbing operators give it.
#[test]
fn unknown_is_absorbed_where_the_other_side_decides() {
    let world = World::new();
    let slot = world.catalogue.slot("account.new").expect("a fact");
    let other = world.catalogue.slot("account.paying").expect("a fact");
    let values = [Slot::Bool(true), Slot::Bool(false), Slot::Unknown];
    let known = |slot: &Slot<'_>| if let Slot::Bool(value) = slot { Some(*value) } else { None };
    for a in values {
        for b in values {
            let mut slots = vec![Slot::Unknown; world.catalogue.names().len()];
            (slots[slot], slots[other]) = (a, b);
            let and = match (known(&a), known(&b)) {
                (Some(false), _) | (_, Some(false)) => Answer::Bool(false),
                (Some(true), Some(true)) => Answer::Bool(true),
                _ => Answer::Unknown,
            };
            let or = match (known(&a), known(&b)) {
                (Some(true), _) | (_, Some(true)) => Answer::Bool(true),
                (Some(false), Some(false)) => Answer::Bool(false),
                _ => Answer::Unknown,
            };
            for (text, expected) in
                [("account.new && account.paying", and), ("account.new || account.paying", or)]
            {
                let tree = compiled(text, &world).expect("well typed");
                assert_eq!(answer_of(&tree, &slots), expected, "{text} {a:?} {b:?}");
                let interpreted = Interpreted::new(text).expect("CEL").eval(&slots, world.scope());
                assert_eq!(interpreted, expected, "{text} {a:?} {b:?}");
            }
        }
    }
}

/// A field that is absent: neither equality nor its negation is true, presence is asked for with has().
#[test]
fn absent_fields_are_unknown_and_so_is_their_negation() {
    let world = World::new();
    let slot = world.catalogue.slot("event.attributes.t").expect("declared");
    let cases = [
        ("!(event.attributes.t == 'true')", [Answer::Unknown, Answer::Bool(false), Answer::Bool(true)]),
        ("event.attributes.t != 'true'", [Answer::Unknown, Answer::Bool(false), Answer::Bool(true)]),
        ("event.attributes.t != event.user_id", [Answer::Unknown, Answer::Unknown, Answer::Unknown]),
        ("has(event.attributes.t)", [Answer::Bool(false), Answer::Bool(true), Answer::Bool(true)]),
        (
            "!has(event.attributes.t) || event.attributes.t != 'true'",
            [Answer::Bool(true), Answer::Bool(false), Answer::Bool(true)],
        ),
    ];
    for (text, expected) in cases {
        let tree = compiled(text, &world).expect("well typed");
        let interpreted = Interpreted::new(text).expect("CEL");
        for (value, expected) in
            [Slot::Unknown, Slot::Text("true"), Slot::Text("false")].into_iter().zip(expected)
        {
            let mut slots = vec![Slot::Unknown; world.catalogue.names().len()];
            slots[slot] = value;
            assert_eq!(answer_of(&tree, &slots), expected, "{text} {value:?}");
            assert_eq!(interpreted.eval(&slots, world.scope()), expected, "{text} {value:?}");
        }
    }
}
