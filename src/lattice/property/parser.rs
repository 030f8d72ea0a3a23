//! From text to a formula: a parser by precedence that knows of each part whether it is a number or
//! a truth value.

use super::Span;
use super::formula::{Atom, Comparison, Expression, Formula};
use super::lexer::{Token, tokens};

type Failure = (String, Span);

/// An operator of two numbers.
type BuildNumber = fn(Box<Expression>, Box<Expression>) -> Expression;

/// Parentheses, intervals and prefix operators within each other: more would overflow the stack
/// before they meant anything.
const MAX_DEPTH: usize = 100;

/// Names, numbers and operators: no formula's tree is deeper than this.
const MAX_TOKENS: usize = 2_000;

pub(super) struct Parsed {
    pub(super) formula: Formula,
    pub(super) variables: Vec<String>,
    pub(super) spans: Vec<Span>,
}

pub(super) fn parse(source: &str) -> Result<Parsed, Failure> {
    let tokens = tokens(source)?;
    if let Some((_, span)) = tokens.get(MAX_TOKENS) {
        return Err((
            format!("expected at most {MAX_TOKENS} names, numbers and operators, found more"),
            *span,
        ));
    }
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        variables: Vec::new(),
        spans: Vec::new(),
    };
    let whole = parser.formula()?;
    parser.end()?;
    let formula = whole.truth()?;
    Ok(Parsed {
        formula,
        variables: parser.variables,
        spans: parser.spans,
    })
}

/// A part and its place.
struct Part {
    meaning: Meaning,
    span: Span,
}

enum Meaning {
    Number(Expression),
    Truth(Formula),
    /// A number or a truth value, as its place asks.
    Variable(usize),
}

impl Part {
    /// A formula of another.
    fn of_truth(formula: Formula, span: Span) -> Part {
        let meaning = Meaning::Truth(formula);
        Part { meaning, span }
    }

    fn truth(self) -> Result<Formula, Failure> {
        match self.meaning {
            Meaning::Truth(formula) => Ok(formula),
            Meaning::Variable(index) => Ok(Formula::Atom(Atom::True(index))),
            Meaning::Number(_) => Err((
                "expected a truth value, found a number; compare it with another".into(),
                self.span,
            )),
        }
    }

    fn number(self) -> Result<Expression, Failure> {
        match self.meaning {
            Meaning::Number(expression) => Ok(expression),
            Meaning::Variable(index) => Ok(Expression::Variable(index)),
            Meaning::Truth(_) => Err(("expected a number, found a truth value".into(), self.span)),
        }
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    next: usize,
    depth: usize,
    variables: Vec<String>,
    spans: Vec<Span>,
}

impl Parser {
    fn peek(&self) -> (&Token, Span) {
        let (token, span) = &self.tokens[self.next];
        (token, *span)
    }

    /// Takes the next token where it is this one.
    fn take(&mut self, fixed: &str) -> Option<Span> {
        match self.peek() {
            (Token::Fixed(found), span) if *found == fixed => {
                self.next += 1;
                Some(span)
            }
            _ => None,
        }
    }

    fn take_any<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<(T, Span)> {
        choices
            .iter()
            .find_map(|(fixed, meaning)| Some((*meaning, self.take(fixed)?)))
    }

    fn expect(&mut self, fixed: &str) -> Result<Span, Failure> {
        self.take(fixed)
            .ok_or_else(|| self.unexpected(&format!("`{fixed}`")))
    }

    fn end(&self) -> Result<(), Failure> {
        match self.peek() {
            (Token::End, _) => Ok(()),
            _ => Err(self.unexpected("an operator or the end of the property")),
        }
    }

    fn unexpected(&self, expected: &str) -> Failure {
        let (token, span) = self.peek();
        let found = match token {
            Token::Name(name) => format!("the name `{name}`"),
            Token::Number(digits) => format!("the number `{digits}`"),
            Token::Fixed(fixed) => format!("`{fixed}`"),
            Token::End => "the end of the property".to_string(),
        };
        (format!("expected {expected}, found {found}"), span)
    }

    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.depth == MAX_DEPTH {
            return Err((
                format!("expected at most {MAX_DEPTH} levels of nesting, found more"),
                self.peek().1,
            ));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn formula(&mut self) -> Result<Part, Failure> {
        self.nested(|parser| {
            let left = parser.disjunction()?;
            if parser.take("->").is_none() {
                return Ok(left);
            }
            let right = parser.formula()?;
            join(left, right, Formula::Implies)
        })
    }

    fn disjunction(&mut self) -> Result<Part, Failure> {
        self.left_to_right("||", Parser::conjunction, Formula::Or)
    }

    fn conjunction(&mut self) -> Result<Part, Failure> {
        self.left_to_right("&&", Parser::since, Formula::And)
    }

    fn since(&mut self) -> Result<Part, Failure> {
        self.left_to_right("since", Parser::prefix, Formula::Since)
    }

    fn left_to_right(
        &mut self,
        word: &str,
        operand: fn(&mut Parser) -> Result<Part, Failure>,
        build: fn(Box<Formula>, Box<Formula>) -> Formula,
    ) -> Result<Part, Failure> {
        let mut left = operand(self)?;
        while self.take(word).is_some() {
            let right = operand(self)?;
            left = join(left, right, build)?;
        }
        Ok(left)
    }

    fn prefix(&mut self) -> Result<Part, Failure> {
        type Build = fn(Box<Formula>) -> Formula;
        let choices: [(&str, Build); 4] = [
            ("previously", Formula::Previously),
            ("once", Formula::Once),
            ("historically", Formula::Historically),
            ("always", Formula::Historically),
        ];
        let Some((build, start)) = self.take_any(&choices) else {
            return self.comparison();
        };
        let operand = self.nested(Parser::prefix)?;
        let span = start.to(operand.span);
        Ok(Part::of_truth(build(Box::new(operand.truth()?)), span))
    }

    fn comparison(&mut self) -> Result<Part, Failure> {
        let choices = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ]
        .map(|comparison| (comparison.symbol(), comparison));
        let left = self.sum()?;
        let Some((comparison, operator)) = self.take_any(&choices) else {
            return Ok(left);
        };
        let right = self.sum()?;
        if let Some((_, span)) = self.take_any(&choices) {
            return Err((
                "comparisons do not chain; put `&&` between two, or parentheses around one".into(),
                span,
            ));
        }
        compare(left, comparison, operator, right)
    }

    fn sum(&mut self) -> Result<Part, Failure> {
        let choices: [(&str, BuildNumber); 2] =
            [("+", Expression::Sum), ("-", Expression::Difference)];
        self.arithmetic(&choices, |parser| {
            let choices: [(&str, BuildNumber); 1] = [("*", Expression::Product)];
            parser.arithmetic(&choices, Parser::unary)
        })
    }

    fn arithmetic(
        &mut self,
        choices: &[(&str, BuildNumber)],
        operand: impl Fn(&mut Parser) -> Result<Part, Failure>,
    ) -> Result<Part, Failure> {
        let mut left = operand(self)?;
        while let Some((build, _)) = self.take_any(choices) {
            let right = operand(self)?;
            let span = left.span.to(right.span);
            let expression = build(Box::new(left.number()?), Box::new(right.number()?));
            left = Part {
                meaning: Meaning::Number(expression),
                span,
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Part, Failure> {
        if let Some(start) = self.take("!") {
            let operand = self.nested(Parser::unary)?;
            let span = start.to(operand.span);
            return Ok(Part::of_truth(
                Formula::Not(Box::new(operand.truth()?)),
                span,
            ));
        }
        if let Some(start) = self.take("-") {
            // `-9223372036854775808` is a number, `9223372036854775808` is not.
            if let (Token::Number(digits), span) = self.peek() {
                let (text, span) = (format!("-{digits}"), start.to(span));
                self.next += 1;
                return literal(&text, span);
            }
            let operand = self.nested(Parser::unary)?;
            let span = start.to(operand.span);
            return Ok(Part {
                meaning: Meaning::Number(Expression::Negative(Box::new(operand.number()?))),
                span,
            });
        }
        match self.peek().0 {
            Token::Fixed("previously" | "once" | "historically" | "always") => self.prefix(),
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Result<Part, Failure> {
        let (token, span) = self.peek();
        match token.clone() {
            Token::Number(digits) => {
                self.next += 1;
                literal(&digits, span)
            }
            Token::Name(name) => {
                self.next += 1;
                self.named(name, span)
            }
            Token::Fixed(word @ ("true" | "false")) => {
                self.next += 1;
                Ok(Part::of_truth(Formula::Constant(word == "true"), span))
            }
            Token::Fixed("(") => {
                self.next += 1;
                let inner = self.formula()?;
                let span = span.to(self.expect(")")?);
                Ok(Part { span, ..inner })
            }
            Token::Fixed("[") => {
                self.next += 1;
                self.interval(span)
            }
            Token::Fixed(_) | Token::End => Err(self.unexpected("a formula")),
        }
    }

    /// After a name: an operator before a parenthesis, or a variable.
    fn named(&mut self, name: String, span: Span) -> Result<Part, Failure> {
        let operator: Option<fn(Box<Formula>) -> Formula> = match name.as_str() {
            "start" => Some(Formula::Start),
            "end" => Some(Formula::End),
            _ => None,
        };
        match operator {
            Some(build) if self.take("(").is_some() => {
                let operand = self.formula()?.truth()?;
                let span = span.to(self.expect(")")?);
                Ok(Part::of_truth(build(Box::new(operand)), span))
            }
            _ => {
                let meaning = Meaning::Variable(self.variable(name, span));
                Ok(Part { meaning, span })
            }
        }
    }

    /// After `[`.
    fn interval(&mut self, start: Span) -> Result<Part, Failure> {
        let since = self.formula()?.truth()?;
        self.expect(",")?;
        let until = self.formula()?.truth()?;
        if let Some(place) = self.take("]") {
            let text =
                "expected `)` at the end of the interval, found `]`: intervals are half open";
            return Err((text.into(), place));
        }
        let span = start.to(self.expect(")")?);
        let interval = Formula::Interval(Box::new(since), Box::new(until));
        Ok(Part::of_truth(interval, span))
    }

    fn variable(&mut self, name: String, span: Span) -> usize {
        self.variables
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| {
                self.variables.push(name);
                self.spans.push(span);
                self.variables.len() - 1
            })
    }
}

fn literal(text: &str, span: Span) -> Result<Part, Failure> {
    match text.parse() {
        Ok(number) => Ok(Part {
            meaning: Meaning::Number(Expression::Number(number)),
            span,
        }),
        Err(_) => Err((
            format!(
                "expected a number from {} to {}, found {text}",
                i64::MIN,
                i64::MAX
            ),
            span,
        )),
    }
}

fn join(
    left: Part,
    right: Part,
    build: fn(Box<Formula>, Box<Formula>) -> Formula,
) -> Result<Part, Failure> {
    let span = left.span.to(right.span);
    let formula = build(Box::new(left.truth()?), Box::new(right.truth()?));
    Ok(Part::of_truth(formula, span))
}

fn compare(
    left: Part,
    comparison: Comparison,
    operator: Span,
    right: Part,
) -> Result<Part, Failure> {
    let span = left.span.to(right.span);
    let truth = |part: &Part| matches!(part.meaning, Meaning::Truth(_));
    let number = |part: &Part| matches!(part.meaning, Meaning::Number(_));
    let formula = if truth(&left) || truth(&right) {
        if number(&left) || number(&right) {
            return Err((
                "expected two numbers or two truth values, found one of each".into(),
                span,
            ));
        }
        let build = match comparison {
            Comparison::Equal => Formula::Same,
            Comparison::NotEqual => Formula::Differ,
            _ => {
                return Err((
                    format!(
                        "expected numbers beside `{}`, found truth values",
                        comparison.symbol()
                    ),
                    operator,
                ));
            }
        };
        build(Box::new(left.truth()?), Box::new(right.truth()?))
    } else {
        Formula::Atom(Atom::Compare(
            comparison,
            left.number()?,
            right.number()?,
            span,
        ))
    };
    Ok(Part::of_truth(formula, span))
}
