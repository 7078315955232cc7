import { queryOptions, useQuery } from '@tanstack/react-query'
import { type Api, type Schemas, answerOf, useServer } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { type Need, type Place, type Privilege, may } from './rights.ts'

export type Self = Schemas['Self'] & { readonly admin_id: string }

export function selfQuery(api: Api) {
  return queryOptions({
    queryKey: ['self'],
    queryFn: () => readSelf(api),
    staleTime: 60_000,
  })
}

/**
 * Reads the account of the session. @throws Problem 401 without one, and while it lacks its second factor: such an account has no
 * id and no rights, and pages would take these away from the person who uses them.
 */
export async function readSelf(api: Api): Promise<Self> {
  const self = await answerOf(api.GET('/api/v1/self'))
  if (!hasId(self)) throw new Problem(401, 'The session lacks its second factor.')
  return self
}

function hasId(self: Schemas['Self']): self is Self {
  return self.admin_id !== undefined
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

function privilegesOf(self: Self): readonly Privilege[] {
  return self.privileges.flatMap(({ scope, role, org_id, site_id }) => [
    { scope, role, org_id, ...(site_id !== undefined && { site_id }) },
  ])
}
