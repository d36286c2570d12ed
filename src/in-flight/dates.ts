/** Tokens in flight by their dates: date, tokens, date, tokens and so on, the earliest first. */
export type Dates = readonly number[];

/** Tokens of all dates. */
export function tokensIn(dates: Dates): number {
  let sum = 0;
  for (let i = 1; i < dates.length; i += 2) sum += dates[i] as number;
  return sum;
}

/**
 * The dates that are not over at `now`. Tokens that are further ahead than `fullMs` are brought to `own`, the date of
 * tokens that are taken now: waiting for their date would take too long (law L6).
 */
export function currentDates(dates: Dates, now: number, own: number, fullMs: number): Dates {
  let current: Dates = [];
  for (let i = 0; i < dates.length; i += 2) {
    const [date, tokens] = [dates[i] as number, dates[i + 1] as number];
    if (date >= now) current = withTokens(current, date - now > fullMs ? own : date, tokens);
  }
  return current;
}

/** Returns the dates with `tokens` added at `date`. A number below 0 removes tokens, at most those that are there. */
export function withTokens(dates: Dates, date: number, tokens: number): Dates {
  let place = 0;
  while (place < dates.length && (dates[place] as number) < date) place += 2;
  const isThere = dates[place] === date;
  const sum = (isThere ? (dates[place + 1] as number) : 0) + tokens;
  const entry = sum > 0 ? [date, sum] : [];
  return [...dates.slice(0, place), ...entry, ...dates.slice(place + (isThere ? 2 : 0))];
}

/** Tokens at one date. */
export function tokensAt(dates: Dates, date: number): number {
  for (let i = 0; i < dates.length; i += 2) if (dates[i] === date) return dates[i + 1] as number;
  return 0;
}

/** The first date by which so many tokens have come back. 0 tokens are back at once: -Infinity. */
export function dateWithout(dates: Dates, tokens: number): number {
  let left = tokens;
  for (let i = 0; left > 0 && i < dates.length; i += 2) {
    left -= dates[i + 1] as number;
    if (left <= 0) return dates[i] as number;
  }
  return -Infinity;
}
