import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { DeviceSearch } from '../devices/device-search.ts'
import { ProblemNote } from '../display/layout/notices.tsx'
import { Row, RowName, useRowLabel } from '../display/layout/row.tsx'
import { ShareBar } from '../display/share-bar.tsx'
import { type DashboardPlace, sumOf, useCounts } from './use-counts.ts'

const types = [
  ['ap', 'Access points'],
  ['switch', 'Switches'],
  ['gateway', 'Gateways'],
] as const

/** The devices by type and state; each number leads to the devices that it counts. */
export function FleetPanel(place: DashboardPlace) {
  return (
    <section className="tiles" aria-label="Devices by type">
      {types.map(([type, title]) => (
        <Tile key={type} {...place} type={type} title={title} />
      ))}
    </section>
  )
}

interface TileProps extends DashboardPlace {
  readonly type: (typeof types)[number][0]
  readonly title: string
}

function Tile({ orgId, siteId, type, title }: TileProps) {
  const { data, error } = useCounts(orgId, 'status', { type, siteId })
  const search = { type, ...(siteId !== undefined && { site: siteId }) }
  const away = data?.get('disconnected') ?? 0
  const connected = data?.get('connected') ?? 0
  return (
    <Row as="div" className="tile">
      <h2>
        <RowName>{title}</RowName>
      </h2>
      {data === undefined && <ProblemNote problem={error} />}
      <p className="tile-figure">
        <DevicesLink orgId={orgId} search={search}>
          {data === undefined ? '–' : sumOf(data).toLocaleString('en')}
        </DevicesLink>
      </p>
      <ShareBar
        label={title}
        shares={[
          { name: 'connected', tone: 'good', count: connected },
          { name: 'disconnected', tone: 'bad', count: away },
        ]}
      />
      <p className="tile-note">
        {data === undefined ? '\u00A0' : `${connected} connected`}
        {away > 0 && (
          <>
            ,{' '}
            <DevicesLink orgId={orgId} search={{ ...search, status: 'disconnected' }}>
              {away} disconnected
            </DevicesLink>
          </>
        )}
      </p>
    </Row>
  )
}

interface DevicesLinkProps {
  readonly orgId: string
  readonly search: DeviceSearch
  readonly children: ReactNode
}

function DevicesLink({ orgId, ...props }: DevicesLinkProps) {
  return <Link {...useRowLabel()} to="/orgs/$orgId/devices" params={{ orgId }} {...props} />
}
