import { useEffect, useRef } from 'react'
import { useServer } from '../api/client.ts'
import type { MxedgeStats } from './mxedge.ts'

interface Options {
  /** Called with each appliance of the organization whose state has changed. */
  readonly onChange: (stats: MxedgeStats) => void
  /** Called where changes may have been lost, and where data may have been read before the stream reports changes. */
  readonly onGap: () => void
}

export function useLiveMxedges(orgId: string, options: Options): void {
  const { stream } = useServer()
  const current = useRef(options)
  useEffect(() => {
    current.current = options
  })
  useEffect(
    () =>
      stream.subscribe(`/orgs/${orgId}/stats/mxedges`, {
        onData: (data) => current.current.onChange(data as MxedgeStats),
        onGap: () => current.current.onGap(),
        onSubscribed: () => current.current.onGap(),
      }),
    [orgId, stream],
  )
}
