//! A list that mostly has one element, which it holds in place.

/// A list whose first element needs no allocation: nearly every packet carries one frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Few<T> {
    first: Option<T>,
    rest: Option<Box<Rest<T>>>,
}

/// The elements after the first; boxed as a whole, since thousands of lists have none.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Rest<T>(Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Few { first: None, rest: None }
    }
}

impl<T> Few<T> {
    /// A list of one.
    #[inline]
    pub fn of(item: T) -> Few<T> {
        Few { first: Some(item), rest: None }
    }
    /// Appends `item`.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.rest.get_or_insert_with(|| Box::new(Rest(Vec::new()))).0.push(item);
        }
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |r| r.0.len())
    }
    /// From first to last.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let rest = self.rest.as_ref().map_or(&[][..], |r| &r.0);
        self.first.iter().chain(rest)
    }
    /// From first to last, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let rest = self.rest.as_mut().map_or(&mut [][..], |r| &mut r.0);
        self.first.iter_mut().chain(rest)
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest.map_or_else(Vec::new, |r| r.0))
    }
}
