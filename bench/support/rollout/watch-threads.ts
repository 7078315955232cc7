import { BroadcastChannel, isMainThread } from 'node:worker_threads'
import { type Needs, watchLoop } from '../loop-watch.ts'

// Loaded before the server, in each of its threads: measures what they need between two messages of the benchmark to the
// process.

export type WatchMessage = 'watch' | 'report'

export interface ThreadNeeds extends Needs {
  readonly cpuMs: number
}

export interface ThreadsReport {
  readonly main: ThreadNeeds
  /** That of the gateway, unless a worker decoded images. */
  readonly others: readonly ThreadNeeds[]
  /** The number of threads that have started but did not answer, because they have ended or hang. */
  readonly silent: number
}

type FromThread = { readonly kind: 'started' } | { readonly kind: 'needs'; readonly needs: ThreadNeeds }

const toThreads = new BroadcastChannel('watch-threads')
const fromThreads = new BroadcastChannel('watched-threads')

/** More often, watching would be several percent of what it measures. */
const LOOK_EVERY_MS = 25

/** A thread answers after its current turn, unless it has ended. */
const ANSWER_WITHIN_MS = 10_000

let watch: (() => ThreadNeeds) | null = null

function obey(message: WatchMessage): ThreadNeeds | null {
  if (message === 'report') return watch?.() ?? null
  const end = watchLoop(LOOK_EVERY_MS)
  const before = process.threadCpuUsage()
  watch = () => {
    const { user, system } = process.threadCpuUsage()
    return { ...end(), cpuMs: (user - before.user + system - before.system) / 1000 }
  }
  return null
}

// oxlint-disable unicorn/require-post-message-target-origin -- That is for windows.
function followMainThread(): void {
  toThreads.onmessage = ({ data }) => {
    const needs = obey(data as WatchMessage)
    if (needs !== null) fromThreads.postMessage({ kind: 'needs', needs } satisfies FromThread)
  }
  // A channel that waits for messages would keep the thread alive.
  toThreads.unref()
  fromThreads.unref()
  fromThreads.postMessage({ kind: 'started' } satisfies FromThread)
}

function followBenchmark(): void {
  let threads = 0
  let others: ThreadNeeds[] = []
  let main: ThreadNeeds | null = null
  let timer: NodeJS.Timeout | undefined
  const answer = (how: 'whole' | 'late'): void => {
    if (main === null || (how === 'whole' && others.length < threads)) return
    clearTimeout(timer)
    process.send?.({ main, others, silent: threads - others.length } satisfies ThreadsReport)
    main = null
  }
  fromThreads.onmessage = ({ data }) => {
    const message = data as FromThread
    if (message.kind === 'started') threads += 1
    else {
      others.push(message.needs)
      answer('whole')
    }
  }
  fromThreads.unref()
  toThreads.unref()
  process.on('message', (message: WatchMessage) => {
    others = []
    toThreads.postMessage(message)
    main = obey(message)
    if (main !== null) timer = setTimeout(() => answer('late'), ANSWER_WITHIN_MS)
    answer('whole')
  })
}

if (isMainThread) followBenchmark()
else followMainThread()
