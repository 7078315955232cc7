import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useServer } from '../../../api/client.ts'
import { macText } from '../../../devices/device.ts'
import { SearchSelect } from '../../../display/forms/search-select.tsx'
import { EmptyState } from '../../../display/layout/notices.tsx'
import { Panel } from '../../../display/layout/panel.tsx'
import { QueryView } from '../../../display/layout/query-view.tsx'
import { type SiteMap, picturePath, sizeOf, styleAt } from '../../../maps/map.ts'
import { type PlacedDevice, placementOn } from '../../../maps/placement.ts'
import { PlanDrawing } from '../../../maps/plan-drawing.tsx'
import { siteDevicesQuery } from '../../../maps/site-devices.ts'
import { useMaps } from '../../../maps/use-maps.ts'
import { type Report, type Target, targetStates } from '../../upgrade.ts'

interface FloorPanelProps {
  readonly report: Report
  /** As in the address; undefined: the first one. */
  readonly siteId: string | undefined
  readonly mapId: string | undefined
}

/** The floor plans of a site, with its devices in the colors of their states in the upgrade. */
export function FloorPanel({ report, siteId, mapId }: FloorPanelProps) {
  const navigate = useNavigate({ from: '/orgs/$orgId/upgrades/$upgradeId' })
  const site = report.sites.find(({ site_id: id }) => id === siteId) ?? report.sites[0]
  if (site === undefined) return null
  return (
    <Panel
      title="Floor plan"
      aside={
        report.sites.length > 1 && (
          <SearchSelect
            isSmall
            label="Site of the floor plan"
            value={site.site_id}
            choices={report.sites.map(({ site_id: value, site_name: name = 'A deleted site' }) => ({
              value,
              label: name,
            }))}
            onChange={(value) =>
              void navigate({
                search: ({ map: _, ...search }) => ({ ...search, site: value }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        )
      }
    >
      <SiteFloors key={site.site_id} site={site} mapId={mapId} targets={report.devices} />
    </Panel>
  )
}

interface SiteFloorsProps {
  readonly site: Report['sites'][number]
  readonly mapId: string | undefined
  readonly targets: readonly Target[]
}

function SiteFloors({ site: { site_id: siteId, site_name: name = 'The site' }, mapId, targets }: SiteFloorsProps) {
  return (
    <QueryView query={useMaps(siteId)} rows={6}>
      {(maps) =>
        maps.length === 0 ? (
          <EmptyState title={`${name} has no floor plan`}>
            With one, you see here which rooms are upgraded already.
          </EmptyState>
        ) : (
          <Floors maps={maps} mapId={mapId} targets={targets} />
        )
      }
    </QueryView>
  )
}

interface FloorsProps {
  readonly maps: readonly SiteMap[]
  readonly mapId: string | undefined
  readonly targets: readonly Target[]
}

function Floors({ maps, mapId, targets }: FloorsProps) {
  const navigate = useNavigate({ from: '/orgs/$orgId/upgrades/$upgradeId' })
  const map = maps.find(({ id }) => id === mapId) ?? maps[0]
  if (map === undefined) return null
  return (
    <>
      {maps.length > 1 && (
        <div className="chips" role="group" aria-label="Floors">
          {maps.map(({ id, name }) => (
            <button
              key={id}
              type="button"
              className="chip"
              aria-pressed={id === map.id}
              {...(id === map.id && { 'data-current': '' })}
              onClick={() =>
                void navigate({ search: (search) => ({ ...search, map: id }), replace: true, resetScroll: false })
              }
            >
              {name ?? 'Floor plan'}
            </button>
          ))}
        </div>
      )}
      <Floor map={map} targets={targets} />
    </>
  )
}

function Floor({ map, targets }: { readonly map: SiteMap; readonly targets: readonly Target[] }) {
  const { api } = useServer()
  const size = sizeOf(map)
  const picture = picturePath(map)
  const devices = useQuery(siteDevicesQuery(api, map.site_id)).data?.rows ?? []
  const states = new Map(targets.map((target) => [target.mac, target.status]))
  return (
    <div className="plan plan-small" style={{ aspectRatio: `${size.width} / ${size.height}` }}>
      {picture !== undefined && <img src={picture} alt="" />}
      <PlanDrawing map={map} size={size} points={[]} />
      {placementOn(map.id, devices).placed.map((device) => (
        <TargetMarker key={device.stats.mac} device={device} map={map} status={states.get(device.stats.mac)} />
      ))}
    </div>
  )
}

interface TargetMarkerProps {
  readonly device: PlacedDevice
  readonly map: SiteMap
  readonly status: Target['status'] | undefined
}

/** A device that is not of the upgrade is shown, too, so that people recognize the floor. */
function TargetMarker({ device: { stats, at }, map, status }: TargetMarkerProps) {
  const name = stats.name || macText(stats.mac)
  const { tone, text } =
    status === undefined ? ({ tone: 'idle', text: 'Not in the upgrade' } as const) : targetStates[status]
  return (
    <span
      className="plan-device"
      data-tone={tone}
      role="img"
      aria-label={`${name}: ${text}`}
      title={`${name}: ${text}`}
      style={styleAt(at, sizeOf(map))}
    >
      <span className="state-dot" aria-hidden="true" />
    </span>
  )
}
