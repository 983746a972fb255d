//! `in`: what stands in a list of literals or in a named list.

use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{Expr, ListExpr};

use super::check::{Checker, double_of, path_of};
use super::flaw::Flaw;
use super::tree::{BoolKind, Double, Int, Text, Typed};
use crate::engine::policy::nearest::did_you_mean;

impl Checker<'_> {
    pub(super) fn membership(&mut self, node: &IdedExpr, item: &IdedExpr, list: &IdedExpr) -> Option<Typed> {
        let typed = self.any(item);
        if let Expr::List(literals) = &list.expr {
            let items = self.list_items(list, literals);
            return self.member_of(node, item, typed?, items?);
        }
        let texts = self.named_list(list);
        match (typed?, texts?) {
            (Typed::Text(text), texts) => self.bool(node, BoolKind::TextIn(text, texts)),
            (other, _) => {
                let message = format!("named lists hold texts, this is {}", other.type_name());
                self.flaw(Flaw::new(self.at(item), message))
            }
        }
    }

    fn named_list(&mut self, list: &IdedExpr) -> Option<Arc<[String]>> {
        let path = path_of(list).unwrap_or_default();
        let Some(name) = path.strip_prefix("lists.") else {
            let message = "`in` needs a list: literals such as ['a', 'b'], or lists.NAME";
            return self.flaw(Flaw::new(self.at(list), message));
        };
        match self.scope.lists.get(name) {
            Some(texts) => {
                self.lists.push(name.to_owned());
                Some(texts.clone())
            }
            None => {
                let known: Vec<&str> = self.scope.lists.keys().map(String::as_str).collect();
                let suggestion = did_you_mean(name, &known);
                self.flaw(Flaw { at: self.at(list), message: format!("unknown list `{name}`"), suggestion })
            }
        }
    }

    fn list_items(&mut self, list: &IdedExpr, literals: &ListExpr) -> Option<Vec<Typed>> {
        if literals.elements.is_empty() {
            return self.flaw(Flaw::new(self.at(list), "nothing is in an empty list"));
        }
        let items: Vec<Option<Typed>> = literals.elements.iter().map(|element| self.any(element)).collect();
        let items = items.into_iter().collect::<Option<Vec<Typed>>>()?;
        for (item, element) in items.iter().zip(&literals.elements) {
            let constant = matches!(
                item,
                Typed::Int(Int::Const(_)) | Typed::Double(Double::Const(_)) | Typed::Text(Text::Const(_))
            );
            if !constant {
                return self
                    .flaw(Flaw::new(self.at(element), "lists hold numbers or texts as literals only"));
            }
        }
        Some(items)
    }

    fn member_of(
        &mut self,
        node: &IdedExpr,
        item: &IdedExpr,
        typed: Typed,
        items: Vec<Typed>,
    ) -> Option<Typed> {
        let ints: Option<Vec<i64>> = items.iter().map(int_const).collect();
        let doubles: Option<Vec<f64>> = items.iter().map(double_const).collect();
        let texts: Option<Vec<String>> = items.into_iter().map(text_const).collect();
        let kind = match (typed, ints, doubles, texts) {
            (Typed::Int(a), Some(ints), _, _) => BoolKind::IntIn(a, ints),
            (Typed::Double(a), Some(ints), _, _) => {
                BoolKind::DoubleIn(a, ints.into_iter().map(|int| int as f64).collect())
            }
            (Typed::Double(a), _, Some(doubles), _) => BoolKind::DoubleIn(a, doubles),
            (Typed::Int(a), _, Some(doubles), _) => BoolKind::DoubleIn(double_of(a), doubles),
            (Typed::Text(a), _, _, Some(texts)) => BoolKind::TextIn(a, texts.into()),
            (typed, _, _, _) => {
                let message = format!("the list does not hold one type that {} can be in", typed.type_name());
                return self.flaw(Flaw::new(self.at(item), message));
            }
        };
        self.bool(node, kind)
    }
}

fn int_const(typed: &Typed) -> Option<i64> {
    if let Typed::Int(Int::Const(value)) = typed { Some(*value) } else { None }
}

fn double_const(typed: &Typed) -> Option<f64> {
    if let Typed::Double(Double::Const(value)) = typed { Some(*value) } else { None }
}

fn text_const(typed: Typed) -> Option<String> {
    if let Typed::Text(Text::Const(value)) = typed { Some(value) } else { None }
}
