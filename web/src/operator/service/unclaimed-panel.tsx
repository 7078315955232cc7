import type { ReactNode } from 'react'
import type { OperatorApi } from '../../api/operator.ts'
import { macText } from '../../devices/device.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Ago } from '../../display/times/time.tsx'
import type { UnclaimedDevice, UnclaimedMxedge } from './answers.ts'
import { OperatorList, useOperatorList } from './operator-list.tsx'

/** Devices that no organization has claimed, with the codes by which one can. */
export function UnclaimedPanel({ operator }: { readonly operator: OperatorApi }) {
  const list = useOperatorList<UnclaimedDevice>(operator, '/unclaimed')
  return (
    <OperatorList
      title="Unclaimed devices"
      list={list}
      empty={
        <EmptyState title="Every known device is claimed">
          Others become known by a manifest, or when they connect.
        </EmptyState>
      }
    >
      {({ last_seen: seenAt, ...device }) => (
        <Unclaimed key={device.mac} {...device}>
          {seenAt === null ? <span className="muted">never connected</span> : <Ago at={seenAt} />}
        </Unclaimed>
      )}
    </OperatorList>
  )
}

/** Edge appliances of a manifest that no organization has claimed. */
export function UnclaimedMxedgePanel({ operator }: { readonly operator: OperatorApi }) {
  const list = useOperatorList<UnclaimedMxedge>(operator, '/unclaimed-mxedges')
  return (
    <OperatorList
      title="Unclaimed edge appliances"
      list={list}
      empty={<EmptyState title="Every known edge appliance is claimed">Others become known by a manifest.</EmptyState>}
    >
      {(mxedge) => <Unclaimed key={mxedge.mac} {...mxedge} />}
    </OperatorList>
  )
}

interface UnclaimedProps extends UnclaimedMxedge {
  readonly children?: ReactNode
}

function Unclaimed({ mac, model, serial, claim_code: code, children }: UnclaimedProps) {
  return (
    <li className="image-line">
      <div>
        <p className="image-uses mono">{macText(mac)}</p>
        <p>{[model, serial].filter((part) => part !== null && part !== '').join(' · ')}</p>
      </div>
      <span>
        {code !== null && <code>{code}</code>} {children}
      </span>
    </li>
  )
}
