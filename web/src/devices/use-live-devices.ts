import { useEffect, useRef, useState } from 'react'
import { type ChannelSet, createChannelSet } from '../api/channel-set.ts'
import { type Schemas, useServer } from '../api/client.ts'
import { createRefresher } from '../api/refresher.ts'

export type DeviceStats = Schemas['DeviceStats']

/** A page follows at most this many sites; a connection of the stream may have 2,000 channels. */
const MAX_SITES = 500

interface Options {
  /**
   * Reads again, where changes may have been lost, and where data may have been read before the stream reports the changes
   * of a site. Many sites begin at the same time, so it is called once at first, and then after a rest.
   */
  readonly onGap: () => Promise<unknown>
  /** Called with each change, before it is shown. */
  readonly onChange?: (stats: DeviceStats) => void
}

/**
 * Returns the devices of these sites that have changed since the page opened, by MAC. However many changes arrive, the
 * page renders once a frame.
 */
export function useLiveDevices(siteIds: readonly string[], options: Options): ReadonlyMap<string, DeviceStats> {
  const { stream } = useServer()
  const [devices, setDevices] = useState<ReadonlyMap<string, DeviceStats>>(new Map())
  const current = useRef(options)
  const followed = useRef<ChannelSet>(null)
  useEffect(() => {
    current.current = options
  })
  useEffect(() => {
    const waiting = new Map<string, DeviceStats>()
    let frame = 0
    const show = (): void => {
      frame = 0
      const changes = [...waiting]
      waiting.clear()
      setDevices((known) => new Map([...known, ...changes]))
    }
    const refresher = createRefresher({ refresh: async () => durationOf(() => current.current.onGap()), schedule })
    const channels = createChannelSet(stream, {
      onData(data: unknown) {
        const stats = data as DeviceStats
        current.current.onChange?.(stats)
        waiting.set(stats.mac, stats)
        if (frame === 0) frame = requestAnimationFrame(show)
      },
      onGap: () => refresher.request(),
      onSubscribed: () => refresher.request(),
    })
    followed.current = channels
    return () => {
      cancelAnimationFrame(frame)
      refresher.stop()
      channels.stop()
    }
  }, [stream])
  const key = siteIds.slice(0, MAX_SITES).join(' ')
  useEffect(() => {
    followed.current?.follow(key === '' ? [] : key.split(' ').map((siteId) => `/sites/${siteId}/stats/devices`))
    // Another stream has another set of channels.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [stream, key])
  return devices
}

const schedule = (run: () => void, ms: number): void => void setTimeout(run, ms)

/** @returns Milliseconds. */
async function durationOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
