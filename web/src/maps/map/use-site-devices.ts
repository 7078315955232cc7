import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { deviceIdOf } from '../../devices/device.ts'
import { useLiveDevices } from '../../devices/use-live-devices.ts'
import type { Point } from '../map.ts'
import { type PlacedDevice, placementOn } from '../placement.ts'
import { MAX_DEVICES, siteDevicesQuery } from '../site-devices.ts'

interface MapId {
  readonly siteId: string
  readonly mapId: string
}

/** The devices of a site by their places, with their current states, and the functions that move them. */
export function useSiteDevices({ siteId, mapId }: MapId) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [moving, setMoving] = useState<ReadonlyMap<string, Point>>(new Map())
  const query = siteDevicesQuery(api, siteId)
  const read = () => queries.invalidateQueries({ queryKey: query.queryKey })
  const live = useLiveDevices([siteId], { onGap: read })
  const { data, error } = useQuery(query)
  const change = useMutation({
    mutationFn: ({ mac, body }: { readonly mac: string; readonly body: Schemas['DeviceUpdate'] }) =>
      answerOf(
        api.PUT('/api/v1/sites/{site_id}/devices/{device_id}', {
          params: { path: { site_id: siteId, device_id: deviceIdOf(mac) } },
          body,
        }),
      ),
    // A device that was refused its new place is shown where it was.
    async onSettled(_answer, _error, { mac }) {
      await read()
      setMoving((known) => new Map([...known].filter(([other]) => other !== mac)))
    },
  })
  const { placed, ...others } = placementOn(mapId, data?.rows ?? [])
  return {
    ...others,
    placed: placed.map(({ stats, at, orientation }): PlacedDevice => {
      const { status, ...report } = live.get(stats.mac) ?? stats
      // Places are polled: the stream sends them only with the next report of the device.
      return {
        stats: { ...stats, status, fwupdate: report['fwupdate'] },
        at: moving.get(stats.mac) ?? at,
        orientation,
      }
    }),
    isKnown: data !== undefined,
    unseen: Math.max(0, (data?.total ?? 0) - MAX_DEVICES),
    error: error ?? change.error,
    /** Shows a device at a point, until `place` has stored one. */
    move: (mac: string, at: Point) => setMoving((known) => new Map([...known, [mac, at]])),
    place: (mac: string, at: Point) => change.mutate({ mac, body: { map_id: mapId, ...at } }),
    turn: (mac: string, orientation: number) => change.mutate({ mac, body: { orientation } }),
    remove: (mac: string) => change.mutate({ mac, body: { map_id: null, x: null, y: null } }),
  }
}

export type SiteDevices = ReturnType<typeof useSiteDevices>
