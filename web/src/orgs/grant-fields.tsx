import { NativeSelect } from '@mantine/core'
import { SearchSelect } from '../display/forms/search-select.tsx'
import { siteChoices, useSites } from './sites.ts'
import { type Grant, type Role, roleWords } from './grant.ts'

interface GrantFieldsProps {
  readonly orgId: string
  readonly grant: Grant
  readonly onChange: (grant: Grant) => void
}

/** The fields of a person's role and its place. */
export function GrantFields({ orgId, grant, onChange }: GrantFieldsProps) {
  const sites = useSites(orgId).data
  return (
    <>
      <NativeSelect
        label="Role"
        description={roleWords[grant.role].text}
        value={grant.role}
        data={Object.entries(roleWords).map(([value, { label }]) => ({ value, label }))}
        onChange={({ currentTarget: { value } }) => onChange({ ...grant, role: value as Role })}
      />
      <SearchSelect
        label="Where"
        value={grant.siteId}
        choices={[{ value: '', label: 'The whole organization' }, ...siteChoices(sites)]}
        onChange={(siteId) => onChange({ ...grant, siteId })}
      />
    </>
  )
}
