import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'

/** The people of the organization, with their privileges. */
export function useAdmins(orgId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['admins', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/admins', { params: { path: { org_id: orgId } } })),
  })
}
