import { Link } from '@tanstack/react-router'
import { ProblemNote } from '../display/notices.tsx'
import { ShareBar } from '../display/share-bar.tsx'
import { sumOf, useCounts } from './use-counts.ts'

const types = [
  ['ap', 'Access points'],
  ['switch', 'Switches'],
  ['gateway', 'Gateways'],
] as const

/** The devices by type and state; each number leads to the devices that it counts. */
export function FleetPanel({ orgId }: { readonly orgId: string }) {
  return (
    <section className="tiles" aria-label="Devices by type">
      {types.map(([type, title]) => (
        <Tile key={type} orgId={orgId} type={type} title={title} />
      ))}
    </section>
  )
}

interface TileProps {
  readonly orgId: string
  readonly type: (typeof types)[number][0]
  readonly title: string
}

function Tile({ orgId, type, title }: TileProps) {
  const { data, error } = useCounts(orgId, 'status', { type })
  const away = data?.get('disconnected') ?? 0
  const connected = data?.get('connected') ?? 0
  return (
    <div className="tile">
      <h2>{title}</h2>
      {data === undefined && <ProblemNote problem={error} />}
      <p className="tile-figure">
        <Link to="/orgs/$orgId/devices" params={{ orgId }} search={{ type }}>
          {data === undefined ? '–' : sumOf(data).toLocaleString('en')}
        </Link>
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
            <Link to="/orgs/$orgId/devices" params={{ orgId }} search={{ type, status: 'disconnected' }}>
              {away} disconnected
            </Link>
          </>
        )}
      </p>
    </div>
  )
}
