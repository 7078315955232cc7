import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Schemas, answerOf, useServer } from '../api/client.ts'
import { orderMaps } from './map.ts'

export type MapChange = Schemas['SiteMapUpdate']

/** A page shows at most this many floor plans of a site. */
const MAX_MAPS = 200

/** The floor plans of a site, the floors of a building together. */
export function useMaps(siteId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['maps', siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/maps', { params: { path: { site_id: siteId }, query: { limit: MAX_MAPS } } }),
      ),
    select: orderMaps,
  })
}

/** The buildings of a site: its stacks of floor plans. */
export function useStacks(siteId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['map stacks', siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/mapstacks', {
          params: { path: { site_id: siteId }, query: { limit: MAX_MAPS } },
        }),
      ),
  })
}

interface MapId {
  readonly siteId: string
  readonly mapId: string
}

/** Changes fields of a floor plan. */
export function useMapChange({ siteId, mapId }: MapId) {
  const { api } = useServer()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: MapChange) =>
      answerOf(
        api.PUT('/api/v1/sites/{site_id}/maps/{map_id}', {
          params: { path: { site_id: siteId, map_id: mapId } },
          body,
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['maps', siteId] }),
  })
}
