/** The share of a site's bandwidth that one response gets. */
export interface PaceLane {
  /** Resolves with true when `bytes` may be sent, and with false as soon as the lane is closed. */
  take(bytes: number): Promise<boolean>
  /** May be called again. */
  close(): void
}

export interface SitePace {
  /**
   * @param site All lanes of one site share its bandwidth.
   * @param device Devices take turns, however many responses each of them has.
   */
  open(site: string, device: string): PaceLane
}

interface Waiter {
  readonly bytes: number
  readonly resolve: (isFree: boolean) => void
}

interface Site {
  lanes: number
  /** The waiters by device, in the order of their turns. */
  readonly queues: Map<string, Waiter[]>
  /** When everything that was granted has been sent at the limit. */
  freeAtMs: number
  /** Grants chunks, a device at a time, until the limit is reached; a timer continues then. */
  serve(): void
  continueIn(waitMs: number): void
}

/** After a pause a site may immediately send what it could have sent in this time. */
const BURST_MS = 500

/**
 * Limits the total download rate of all devices of a site. A site costs memory only while one of its devices downloads:
 * a lane waits with at most one chunk. Afterwards its state remains until the granted bytes have been sent at the
 * limit, so that many short requests gain nothing.
 * @param bytesPerS Null: no limit.
 */
export function createSitePace(bytesPerS: number | null): SitePace {
  if (bytesPerS === null) return { open: () => unlimited }
  const sites = new Map<string, Site>()
  return {
    open(name, device) {
      const site = sites.get(name) ?? createSite(bytesPerS, () => sites.delete(name))
      sites.set(name, site)
      site.lanes += 1
      const waiting = new Set<Waiter>()
      let isOpen = true
      return {
        take: (bytes) =>
          new Promise((resolve) => {
            if (!isOpen) return resolve(false)
            const waiter: Waiter = {
              bytes,
              resolve(isFree) {
                waiting.delete(waiter)
                resolve(isFree)
              },
            }
            waiting.add(waiter)
            enqueue(site, device, waiter)
            site.serve()
          }),
        close() {
          if (!isOpen) return
          isOpen = false
          for (const waiter of waiting) {
            dequeue(site, device, waiter)
            waiter.resolve(false)
          }
          site.lanes -= 1
          if (site.lanes === 0) site.continueIn(0)
        },
      }
    },
  }
}

const unlimited: PaceLane = { take: () => Promise.resolve(true), close: () => undefined }

function enqueue({ queues }: Site, device: string, waiter: Waiter): void {
  const queue = queues.get(device)
  if (queue === undefined) queues.set(device, [waiter])
  else queue.push(waiter)
}

function dequeue({ queues }: Site, device: string, waiter: Waiter): void {
  const left = queues.get(device)?.filter((other) => other !== waiter) ?? []
  if (left.length === 0) queues.delete(device)
  else queues.set(device, left)
}

function createSite(bytesPerS: number, forget: () => void): Site {
  let timer: NodeJS.Timeout | null = null
  const site: Site = {
    lanes: 0,
    queues: new Map(),
    freeAtMs: 0,
    serve() {
      const nowMs = performance.now()
      for (const [device, queue] of site.queues) {
        const waitMs = site.freeAtMs - BURST_MS - nowMs
        if (waitMs > 0) return site.continueIn(waitMs)
        const [waiter, ...left] = queue
        // The device goes to the end of the order.
        site.queues.delete(device)
        if (left.length > 0) site.queues.set(device, left)
        if (waiter === undefined) continue
        site.freeAtMs = Math.max(site.freeAtMs, nowMs) + (waiter.bytes / bytesPerS) * 1000
        waiter.resolve(true)
      }
    },
    continueIn(waitMs) {
      timer ??= setTimeout(() => {
        timer = null
        const owedMs = site.freeAtMs - performance.now()
        if (site.lanes > 0) site.serve()
        else if (owedMs > 0) site.continueIn(owedMs)
        else forget()
      }, Math.ceil(waitMs)).unref()
    },
  }
  return site
}
