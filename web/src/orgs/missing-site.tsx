import { useMay } from '../accounts/self.ts'
import { DeletedNote } from '../display/layout/deleted-note.tsx'
import { EmptyState } from '../display/layout/notices.tsx'

/** Stands for a page of a site that the person does not see. */
export function MissingSite({ orgId }: { readonly orgId: string }) {
  const mayReadOrg = useMay('read', { orgId })
  if (mayReadOrg) return <DeletedNote orgId={orgId} noun="site" message="Delete Site" />
  return (
    <EmptyState title="Your role does not reach this site, or there is none">
      An admin of the organization can change your role.
    </EmptyState>
  )
}
