import { useSyncExternalStore } from 'react'
import { type Ticker, createTicker } from './ticker.ts'

const tickers = new Map<number, Ticker>()

function tickerOf(everyMs: number): Ticker {
  const ticker = tickers.get(everyMs) ?? createTicker(everyMs)
  tickers.set(everyMs, ticker)
  return ticker
}

/** Returns the time in seconds, and renders again as often as texts such as "5 s ago" need it. */
export function useNow(everyMs = 5000): number {
  const { subscribe, now } = tickerOf(everyMs)
  return useSyncExternalStore(subscribe, now) / 1000
}
