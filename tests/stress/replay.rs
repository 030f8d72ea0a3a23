//! The merged order against what the strands say: every strand's events are its own steps in its
//! own order, and every read sees the last write before it.

use std::collections::HashMap;

use aerodrome::trace::{Event, Op, Update};

use super::log::{Entry, Step};

/// What is known after some events of the merged trace.
pub(crate) struct Replay {
    logs: Vec<Vec<Entry>>,
    /// By the trace's number of a strand: its number in the program, and how many of its steps were
    /// seen.
    strands: HashMap<u32, (usize, usize)>,
    /// By the trace's number of an object, while it lives: its number in the program.
    objects: HashMap<u32, u32>,
    messages: HashMap<u32, Option<u64>>,
    /// By the program's number.
    values: HashMap<u32, u64>,
    signals: HashMap<u32, u64>,
    sends: HashMap<u32, u64>,
    /// By strand: the message whose channel was updated and which is about to be sent.
    sending: HashMap<u32, u64>,
    /// By strand: the channel that its last event received from.
    received: HashMap<u32, u32>,
}

type Result<T = ()> = std::result::Result<T, String>;

impl Replay {
    pub(crate) fn new(logs: Vec<Vec<Entry>>) -> Self {
        Self {
            logs,
            strands: HashMap::new(),
            objects: HashMap::new(),
            messages: HashMap::new(),
            values: HashMap::new(),
            signals: HashMap::new(),
            sends: HashMap::new(),
            sending: HashMap::new(),
            received: HashMap::new(),
        }
    }

    /// Takes the next event.
    pub(crate) fn step(&mut self, event: &Event) -> Result {
        let strand = event.strand.0;
        if self.strands.is_empty() {
            self.strands.insert(strand, (0, 0));
        }
        let received = self.received.remove(&strand);
        match event.op {
            Op::Begin
            | Op::End
            | Op::Split
            | Op::Restart
            | Op::Pause
            | Op::Notify
            | Op::Busy
            | Op::Reach
            | Op::Leave
            | Op::Value
            | Op::Born => {}
            Op::Exit => self.ended(strand)?,
            Op::Join => self.ended(event.target)?,
            Op::Retire => {
                self.objects.remove(&event.target);
                self.messages.remove(&event.target);
            }
            Op::Fork => {
                let child = self.take(strand, &[Step::Fork])?.on as usize;
                self.strands.insert(event.target, (child, 0));
            }
            Op::Acquire => self.lock(event, Step::Acquire)?,
            Op::Release => self.lock(event, Step::Release)?,
            Op::AcquireShared => self.lock(event, Step::AcquireShared)?,
            Op::ReleaseShared => self.lock(event, Step::ReleaseShared)?,
            Op::Downgrade => self.lock(event, Step::Downgrade)?,
            Op::Upgrade => return Err("nobody upgrades".to_owned()),
            Op::Read | Op::CompareExchangeFailed | Op::Vain(Update::Init) => self.read(event)?,
            Op::Write | Op::Update(Update::Init) => self.write(event)?,
            Op::ReadWrite | Op::CompareExchange | Op::Vain(_) => {
                self.read(event)?;
                self.write(event)?;
            }
            Op::Update(Update::Channel) => {
                // A channel's update comes before a message's own send, and after its receipt.
                if let Some(on) = received {
                    return self.same(event.target, on);
                }
                let entry = self.take(strand, &[Step::Send])?;
                self.same(event.target, entry.on)?;
                *self.sends.entry(entry.on).or_default() += 1;
                self.sending.insert(strand, entry.value);
            }
            Op::Update(_) => {
                self.read(event)?;
                self.write(event)?;
            }
            Op::Signal => {
                let on = self.take(strand, &[Step::Signal])?.on;
                self.same(event.target, on)?;
                *self.signals.entry(on).or_default() += 1;
            }
            Op::Await => {
                let entry = self.take(strand, &[Step::Await])?;
                self.same(event.target, entry.on)?;
                let signals = self.signals.get(&entry.on).copied().unwrap_or(0);
                if signals < entry.value {
                    return Err(format!("{signals} signals before {entry:?}"));
                }
            }
            Op::Send => {
                let value = self.sending.remove(&strand);
                if value.is_none() {
                    self.take(strand, &[Step::Answer])?;
                }
                if self.messages.insert(event.target, value).is_some() {
                    return Err("a message that is another one already".to_owned());
                }
            }
            Op::Recv => {
                let entry = self.take(strand, &[Step::Receive, Step::Answered])?;
                let value = (entry.step == Step::Receive).then_some(entry.value);
                self.received.insert(strand, entry.on);
                if self.messages.remove(&event.target) != Some(value) {
                    return Err(format!("another message than {entry:?}"));
                }
            }
        }
        Ok(())
    }

    /// The trace is over.
    pub(crate) fn finish(self) -> Result {
        let root = self.strands.values().find(|(program, _)| *program == 0);
        let (_, seen) = root.ok_or("no events")?;
        if rest(&self.logs[0][*seen..]) > 0 {
            return Err(format!("the root's steps end at {seen}"));
        }
        Ok(())
    }

    /// The strand's next step, which is to be one of these.
    fn take(&mut self, strand: u32, steps: &[Step]) -> Result<Entry> {
        let (program, seen) = self
            .strands
            .get_mut(&strand)
            .ok_or("a strand that nobody forked")?;
        let log = &self.logs[*program];
        while let Some(Entry {
            step: Step::New,
            on,
            value,
        }) = log.get(*seen)
        {
            self.values.insert(*on, *value);
            *seen += 1;
        }
        let entry = log.get(*seen).copied();
        *seen += 1;
        entry
            .filter(|entry| steps.contains(&entry.step))
            .ok_or_else(|| format!("{steps:?} of strand {program}, whose step {seen} is {entry:?}"))
    }

    /// The strand has no more events.
    fn ended(&self, strand: u32) -> Result {
        // The root's log ends before the strand does: the shared objects are dropped after.
        match self.strands.get(&strand) {
            Some((program, seen)) if rest(&self.logs[*program][*seen..]) > 0 => {
                Err(format!("strand {program} ends after {seen} steps"))
            }
            Some(_) => Ok(()),
            None => Err("the end of a strand that nobody forked".to_owned()),
        }
    }

    /// Whether the trace's object is the program's.
    fn same(&mut self, object: u32, on: u32) -> Result {
        let known = *self.objects.entry(object).or_insert(on);
        if known == on {
            Ok(())
        } else {
            Err(format!("object {known} is called {on}"))
        }
    }

    fn lock(&mut self, event: &Event, step: Step) -> Result {
        let on = self.take(event.strand.0, &[step])?.on;
        self.same(event.target, on)
    }

    fn read(&mut self, event: &Event) -> Result {
        let entry = self.take(event.strand.0, &[Step::Read, Step::Force, Step::Empty])?;
        self.same(event.target, entry.on)?;
        let last = match entry.step {
            Step::Empty => self.sends.get(&entry.on),
            _ => self.values.get(&entry.on),
        };
        let last = last.copied().unwrap_or(0);
        if last == entry.value {
            Ok(())
        } else {
            Err(format!("{entry:x?} where the last write was of {last:x}"))
        }
    }

    fn write(&mut self, event: &Event) -> Result {
        let entry = self.take(event.strand.0, &[Step::Write, Step::Force])?;
        self.values.insert(entry.on, entry.value);
        self.same(event.target, entry.on)
    }
}

/// How many steps are left that have an event.
fn rest(log: &[Entry]) -> usize {
    log.iter().filter(|entry| entry.step != Step::New).count()
}
