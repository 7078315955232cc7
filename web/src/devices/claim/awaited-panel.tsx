import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { macText } from '../device.ts'
import { inventoryItemQuery } from '../inventory-item.ts'
import { useLiveDevices } from '../use-live-devices.ts'

/** A device without a site is in no channel of the stream, so it is polled. */
const ASK_AGAIN_MS = 5000

interface AwaitedPanelProps {
  readonly orgId: string
  readonly macs: readonly string[]
  readonly siteIds: readonly string[]
}

/** The devices that were claimed, each until it has connected. */
export function AwaitedPanel({ orgId, macs, siteIds }: AwaitedPanelProps) {
  const queries = useQueryClient()
  const ask = (mac?: string) =>
    queries.invalidateQueries({ queryKey: ['inventory item', orgId, ...(mac ? [mac] : [])] })
  useLiveDevices(macs.length === 0 ? [] : siteIds, {
    onGap: () => ask(),
    onChange: ({ mac }) => {
      if (macs.includes(mac)) void ask(mac)
    },
  })
  return (
    <Panel title="Devices">
      {macs.length === 0 ? (
        <EmptyState title="Nothing claimed yet">Claimed devices are awaited here until they connect.</EmptyState>
      ) : (
        <ul className="log" aria-live="polite">
          {macs.map((mac) => (
            <Awaited key={mac} orgId={orgId} mac={mac} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Awaited({ orgId, mac }: { readonly orgId: string; readonly mac: string }) {
  const { api } = useServer()
  const { data } = useQuery({
    ...inventoryItemQuery(api, orgId, mac),
    refetchInterval: ({ state }) => (state.data?.connected === true ? false : ASK_AGAIN_MS),
  })
  const name = data?.name || macText(mac)
  return (
    <li className="image-line">
      <span>
        {data?.site_id === undefined ? (
          name
        ) : (
          <Link to="/orgs/$orgId/sites/$siteId/devices/$mac" params={{ orgId, siteId: data.site_id, mac }}>
            {name}
          </Link>
        )}{' '}
        <span className="muted">{data?.model}</span>
      </span>
      {data === null ? (
        <StateMark tone="bad">Not of this organization</StateMark>
      ) : data?.connected === true ? (
        <StateMark tone="good">Connected</StateMark>
      ) : (
        <StateMark tone="busy">Waiting for it to connect</StateMark>
      )}
    </li>
  )
}
