import { queryOptions, useQuery } from '@tanstack/react-query'
import { type Api, type Schemas, answerOf, useServer } from '../api/client.ts'
import { type Need, type Place, type Privilege, may } from './rights.ts'

export type Self = Schemas['Self']

export function selfQuery(api: Api) {
  return queryOptions({
    queryKey: ['self'],
    queryFn: () => answerOf(api.GET('/api/v1/self')),
    staleTime: 60_000,
  })
}

/** Returns the id of the person whose session it is; null as long as the session lacks its second factor. */
export function ownerOf({ admin_id: id }: Self): string | null {
  return id ?? null
}

export function useSelf(): Self | undefined {
  const { api } = useServer()
  return useQuery(selfQuery(api)).data
}

/** True if the caller has the permission `need`; false until it is known. */
export function useMay(need: Need, place: Place): boolean {
  const self = useSelf()
  return self !== undefined && may(privilegesOf(self), need, place)
}

export function privilegesOf(self: Self): readonly Privilege[] {
  return self.privileges.flatMap(({ scope, role, org_id, site_id }) => [
    { scope, role, org_id, ...(site_id !== undefined && { site_id }) },
  ])
}
