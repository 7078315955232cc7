import { useQueryClient } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'
import { RequestForm } from '../display/forms/request-form.tsx'
import type { Site } from './sites.ts'

interface NewSiteFormProps {
  readonly orgId: string
  readonly onCreated: (site: Pick<Site, 'id'>) => unknown
}

/** Creates a site; by default it is where the viewer is. */
export function NewSiteForm({ orgId, onCreated }: NewSiteFormProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  return (
    <RequestForm
      fields={[
        { name: 'name', label: 'Name of a new site', required: true },
        {
          name: 'timezone',
          label: 'Time zone',
          description: 'For the start of upgrades and the maintenance windows of the site',
          required: true,
          value: new Intl.DateTimeFormat().resolvedOptions().timeZone,
        },
        { name: 'address', label: 'Address', description: 'Optional' },
      ]}
      action="Create the site"
      run={async ({ name = '', timezone = '', address = '' }) => {
        const site = await answerOf(
          api.POST('/api/v1/orgs/{org_id}/sites', {
            params: { path: { org_id: orgId } },
            body: { name, timezone, ...(address !== '' && { address }) },
          }),
        )
        await queries.invalidateQueries({ queryKey: ['sites', orgId] })
        await onCreated(site)
      }}
    />
  )
}
