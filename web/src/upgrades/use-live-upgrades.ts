import { useEffect, useRef } from 'react'
import { useServer } from '../api/client.ts'
import { createRefresher } from '../api/refresher.ts'
import { type UpgradeKind, kinds } from './overview.ts'

interface Options {
  /** Called with each message. @returns True if the page is to be read again, as far as it shows more than the message. */
  readonly onChange: (data: unknown) => boolean
  /** Reads again what the page shows. */
  readonly read: () => Promise<unknown>
}

/**
 * Keeps what a page shows of upgrades of these kinds up to date with the server.
 * @param place The path of the organization, or of the one site, whose upgrades they are.
 */
export function useLiveUpgrades(
  place: `/${'orgs' | 'sites'}/${string}`,
  watched: readonly UpgradeKind[],
  options: Options,
): void {
  const { stream } = useServer()
  const current = useRef(options)
  useEffect(() => {
    current.current = options
  })
  const names = watched.join(' ')
  useEffect(() => {
    const refresher = createRefresher({ refresh: () => timed(current.current.read), schedule })
    const ends = (names.split(' ') as UpgradeKind[]).map((kind) =>
      stream.subscribe(`${place}${kinds[kind].path}`, {
        onData(data) {
          if (current.current.onChange(data)) refresher.request()
        },
        onGap: () => refresher.request(),
        onSubscribed: () => refresher.request(),
      }),
    )
    return () => {
      for (const end of ends) end()
      refresher.stop()
    }
  }, [names, place, stream])
}

/** Returns the id of the upgrade that a message of the stream is about; those about edge appliances are whole records. */
export function upgradeIdIn(data: unknown): string | undefined {
  const { upgrade_id: upgradeId, id } = data as { readonly upgrade_id?: string; readonly id?: string }
  return upgradeId ?? id
}

const schedule = (run: () => void, ms: number): void => void setTimeout(run, ms)

async function timed(read: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await read()
  return performance.now() - began
}

/** A hidden tab reads when it is shown again. */
export function refetchType(): 'active' | 'none' {
  return document.hidden ? 'none' : 'active'
}
