import { useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { counted } from '../../display/texts/counted.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { useSites } from '../../orgs/sites.ts'
import { type Point, type SiteMap, segmentsOf } from '../map.ts'
import { useMaps, useStacks } from '../use-maps.ts'
import { DevicePanel } from './device-panel.tsx'
import { DrawPanel } from './draw-panel.tsx'
import type { Drawing } from './drawings.ts'
import { PicturePanel } from './picture-panel.tsx'
import { PlanView } from './plan-view.tsx'
import { type SiteDevices, useSiteDevices } from './use-site-devices.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/sites/$siteId/maps/$mapId')

/** A floor plan: the positions of devices, in the colors of their states, and the drawings on it. */
export function MapPage() {
  const { orgId, siteId, mapId } = route.useParams()
  return (
    <QueryView query={useMaps(siteId)} rows={8}>
      {(maps) => {
        const map = maps.find(({ id }) => id === mapId)
        if (map === undefined)
          return (
            <EmptyState title="The floor plan was deleted, or it never existed">
              <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId }}>
                The page of the site
              </Link>{' '}
              has its other plans.
            </EmptyState>
          )
        return <MapView orgId={orgId} map={map} maps={maps} />
      }}
    </QueryView>
  )
}

interface MapViewProps {
  readonly orgId: string
  readonly map: SiteMap
  readonly maps: readonly SiteMap[]
}

function MapView({ orgId, map, maps }: MapViewProps) {
  const { site_id: siteId } = map
  const site = useSites(orgId).data?.get(siteId)
  const mayWrite = useMay('write', { orgId, siteId })
  const devices = useSiteDevices({ siteId, mapId: map.id })
  const { device: chosen = null } = route.useSearch()
  const navigate = useNavigate({ from: '/orgs/$orgId/sites/$siteId/maps/$mapId' })
  const setChosen = (mac: string | null): void =>
    void navigate({ search: mac === null ? {} : { device: mac }, replace: true, resetScroll: false })
  const [placing, setPlacing] = useState<string | null>(null)
  const [drawing, setDrawing] = useState<Drawing | null>(null)
  const [points, setPoints] = useState<readonly Point[]>([])
  const begin = (next: Drawing | null): void => {
    setDrawing(next)
    setPoints([])
    setPlacing(null)
  }
  const mark = (at: Point): void => {
    if (drawing !== null) return setPoints([...points, at].slice(0, drawing.most ?? Number.POSITIVE_INFINITY))
    if (placing === null) return
    devices.place(placing, at)
    setChosen(placing)
    setPlacing(null)
  }
  return (
    <>
      <PageTitle
        title={map.name ?? 'Floor plan'}
        call={`/sites/${siteId}/maps/${map.id}`}
        above={
          <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId }}>
            {site?.name ?? 'Site'}
          </Link>
        }
        actions={mayWrite && <DeleteButton orgId={orgId} map={map} devices={devices} />}
      >
        <Floors orgId={orgId} map={map} maps={maps} />
      </PageTitle>
      <div className="plan-columns">
        <PlanView
          map={map}
          devices={devices}
          mayWrite={mayWrite}
          chosen={chosen}
          onChoose={setChosen}
          points={points}
          onPoint={drawing === null && placing === null ? null : mark}
        />
        <div>
          <DevicePanel
            orgId={orgId}
            siteId={siteId}
            devices={devices}
            chosen={chosen}
            placing={placing}
            mayWrite={mayWrite}
            onPlace={(mac) => {
              begin(null)
              setPlacing(mac === placing ? null : mac)
            }}
          />
          {mayWrite && (
            <>
              <DrawPanel
                map={map}
                drawing={drawing}
                points={points}
                onBegin={begin}
                onPoints={setPoints}
                onEnd={() => begin(null)}
              />
              <PicturePanel map={map} />
            </>
          )}
        </div>
      </div>
    </>
  )
}

/** The floors of the same building. */
function Floors({ orgId, map, maps }: MapViewProps) {
  const building = useStacks(map.site_id).data?.find(({ id }) => id === map.mapstack_id)?.name
  const floors = maps.filter(({ mapstack_id: stack }) => stack !== undefined && stack === map.mapstack_id)
  if (floors.length < 2) return building === undefined ? null : <span>{building}</span>
  return (
    <nav aria-label="Floors" className="chips">
      {floors.map(({ id, name, site_id: siteId }) => (
        <Link
          key={id}
          to="/orgs/$orgId/sites/$siteId/maps/$mapId"
          params={{ orgId, siteId, mapId: id }}
          className="chip"
          {...(id === map.id && { 'data-current': '' })}
        >
          {name}
        </Link>
      ))}
    </nav>
  )
}

interface DeleteButtonProps {
  readonly orgId: string
  readonly map: SiteMap
  readonly devices: SiteDevices
}

function DeleteButton({ orgId, map, devices }: DeleteButtonProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { id: mapId, site_id: siteId } = map
  const placed = devices.placed.length
  return (
    <ConfirmButton
      action="Delete the plan"
      isDestructive
      effect={{
        does: 'Deletes',
        counts: [
          { count: 1, one: 'floor plan' },
          { count: map.url === undefined ? 0 : 1, one: 'picture' },
          { count: segmentsOf(map.wall_path).length, one: 'wall' },
          { count: map.geofences?.length ?? 0, one: 'geofence' },
          { count: segmentsOf(map.wayfinding_path).length, one: 'segment of paths', many: 'segments of paths' },
        ],
        name: map.name,
        consequences: [`${counted(placed, 'device loses its place', 'devices lose their places')}.`],
        isFinal: true,
      }}
      run={async () => {
        await answerOf(
          api.DELETE('/api/v1/sites/{site_id}/maps/{map_id}', { params: { path: { site_id: siteId, map_id: mapId } } }),
        )
        await navigate({ to: '/orgs/$orgId/sites/$siteId', params: { orgId, siteId }, ignoreBlocker: true })
        await queries.invalidateQueries({ queryKey: ['maps', siteId] })
      }}
    />
  )
}
