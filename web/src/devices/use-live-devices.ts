import { useEffect, useRef, useState } from 'react'
import { type Schemas, useServer } from '../api/client.ts'

export type DeviceStats = Schemas['DeviceStats']

/** A page follows at most this many sites; a connection of the stream may have 2,000 channels. */
const MAX_SITES = 500

interface Options {
  /** Called where changes may have been lost. */
  readonly onGap: () => void
  /** Called once the stream reports the changes of a site: what was read before may be outdated. */
  readonly onSubscribed?: () => void
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
  useEffect(() => {
    current.current = options
  })
  const key = siteIds.slice(0, MAX_SITES).join(' ')
  useEffect(() => {
    const waiting = new Map<string, DeviceStats>()
    let frame = 0
    const show = (): void => {
      frame = 0
      const changes = [...waiting]
      waiting.clear()
      setDevices((known) => new Map([...known, ...changes]))
    }
    const listener = {
      onData(data: unknown) {
        const stats = data as DeviceStats
        current.current.onChange?.(stats)
        waiting.set(stats.mac, stats)
        if (frame === 0) frame = requestAnimationFrame(show)
      },
      onGap: () => current.current.onGap(),
      onSubscribed: () => current.current.onSubscribed?.(),
    }
    const channels = key === '' ? [] : key.split(' ').map((siteId) => `/sites/${siteId}/stats/devices`)
    const ends = channels.map((channel) => stream.subscribe(channel, listener))
    return () => {
      cancelAnimationFrame(frame)
      for (const end of ends) end()
    }
  }, [stream, key])
  return devices
}
