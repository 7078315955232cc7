import { setFlagsFromString } from 'node:v8'
import { LEAST_LIMIT_MB, decideSaving, notSaving } from './decide-saving.ts'

const EVERY_MS = 250

/**
 * The flags of V8 while memory is saved, and otherwise. Collections then return all free pages to the system and move
 * objects out of pages that are mostly free, and the next one comes when the heap has grown by one and a half times of
 * what is in use. Both flags are read at each collection.
 */
const flags = {
  on: ['--optimize-for-size', '--heap-growing-percent=150'],
  off: ['--no-optimize-for-size', '--heap-growing-percent=0'],
} as const

/**
 * Makes V8 save memory in all threads while the process has much of it. Otherwise V8 keeps the pages of its largest heap
 * for its next garbage, and lets a heap grow to four times of what is in use: both threads together kept hundreds of
 * megabytes after a burst. It changes nothing if the command line sets one of the flags; NODE_OPTIONS can't.
 */
export function saveMemory(leastLimitMb = LEAST_LIMIT_MB): void {
  if (process.execArgv.some(isSameFlag)) return
  let saving = notSaving(leastLimitMb)
  const timer = setInterval(() => {
    const { isOn } = saving
    saving = decideSaving(saving, { residentMb: process.memoryUsage.rss() / 1024 ** 2, nowMs: performance.now() })
    if (saving.isOn !== isOn) for (const flag of flags[saving.isOn ? 'on' : 'off']) setFlagsFromString(flag)
  }, EVERY_MS)
  timer.unref()
}

function isSameFlag(option: string): boolean {
  return /^--(no-?)?(optimize[-_]for[-_]size|heap[-_]growing[-_]percent)/.test(option)
}
