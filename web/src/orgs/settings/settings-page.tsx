import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type Self, selfQuery, useMay, useSelf } from '../../accounts/self.ts'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { EditForm } from '../../display/forms/edit-form.tsx'
import {
  type SettingField,
  changeOf,
  hasOthers,
  nameOf,
  settingFields,
  settingGroups,
  textsOf,
} from '../setting-fields.ts'
import { SettingForm, SettingInput, useSettingEdits } from '../setting-form.tsx'
import { settingQuery } from '../setting-query.ts'

type OrgSetting = Schemas['OrgSetting']

const route = getRouteApi('/signed-in/orgs/$orgId/settings')

/** The name of the organization, and the settings for all of its sites and people. */
export function SettingsPage() {
  const { orgId } = route.useParams()
  const { api } = useServer()
  const mayChange = useMay('admin', { orgId })
  const query = useQuery(settingQuery(api, orgId))
  return (
    <>
      <PageTitle title="Settings" call={`/orgs/${orgId}/setting`}>
        {!mayChange && <span>An admin of the organization can change them</span>}
      </PageTitle>
      {mayChange && <NamePanel orgId={orgId} />}
      <QueryView query={query} rows={10}>
        {(setting) => <OrgSettingForm orgId={orgId} setting={setting} mayChange={mayChange} />}
      </QueryView>
    </>
  )
}

function NamePanel({ orgId }: { readonly orgId: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const nameIn = (self?: Pick<Self, 'privileges'>) => ({
    name: self?.privileges.find(({ org_id: id }) => id === orgId)?.org_name ?? '',
  })
  return (
    <Panel title="Organization">
      <EditForm
        fields={[{ name: 'name', label: 'Name', required: true }]}
        stored={nameIn(useSelf())}
        readAgain={async () => nameIn(await queries.fetchQuery({ ...selfQuery(api), staleTime: 0 }))}
        action="Rename"
        save={async (body) => {
          await answerOf(api.PUT('/api/v1/orgs/{org_id}', { params: { path: { org_id: orgId } }, body }))
          await queries.invalidateQueries()
        }}
      />
    </Panel>
  )
}

interface OrgSettingFormProps {
  readonly orgId: string
  readonly setting: OrgSetting
  readonly mayChange: boolean
}

function OrgSettingForm({ orgId, setting, mayChange }: OrgSettingFormProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const form = useSettingEdits({
    loaded: setting,
    textsOf,
    fieldOf: (name) => settingFields.find((field) => nameOf(field) === name) ?? { label: name },
    readAgain: () => queries.fetchQuery({ ...settingQuery(api, orgId), staleTime: 0 }),
    async save(texts, present) {
      const body = changeOf(
        texts,
        present,
        settingFields.filter((field) => isEditable(field, present)),
      )
      const saved = await answerOf(
        api.PUT('/api/v1/orgs/{org_id}/setting', { params: { path: { org_id: orgId } }, body }),
      )
      queries.setQueryData(['setting', orgId], saved)
      return saved
    },
  })
  return (
    <SettingForm form={form} mayChange={mayChange}>
      {settingGroups.map(({ title, fields }) => (
        <Panel key={title} title={title}>
          <div className="wizard-fields">
            {fields
              .filter((field) => isEditable(field, setting))
              .map((field) => (
                <SettingInput key={nameOf(field)} form={form} field={field} />
              ))}
          </div>
          {fields.some((field) => !isEditable(field, setting)) && (
            <p>Further fields can be changed only by the API, because secrets are hidden from everyone.</p>
          )}
        </Panel>
      ))}
    </SettingForm>
  )
}

/** False while the server hides secrets from everyone: a write of a group would delete those that its other members may have. */
function isEditable(field: SettingField, setting: OrgSetting): boolean {
  return setting.api_policy?.no_reveal !== true || !hasOthers(field, setting)
}
