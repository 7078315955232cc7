import { useEffect, useState } from 'react'

/** Returns the time in seconds, and renders again as often as texts such as "5 s ago" need it. */
export function useNow(everyMs = 5000): number {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return nowMs / 1000
}
