import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { type Self, selfQuery, useMay, useSelf } from '../../accounts/self.ts'
import { type Api, answerOf, useServer } from '../../api/client.ts'
import { fieldPathIn } from '../../api/problem.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { EditForm } from '../../display/forms/edit-form.tsx'
import type { ShownField } from '../../display/forms/edits.ts'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { useEdits } from '../../display/forms/use-edits.ts'
import {
  type Setting,
  type SettingField,
  changeOf,
  fieldOfPath,
  isEditable,
  nameOf,
  settingGroups,
  textsOf,
} from './setting-fields.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/settings')

function settingQuery(api: Api, orgId: string) {
  return queryOptions({
    queryKey: ['setting', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/setting', { params: { path: { org_id: orgId } } })),
  })
}

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
        {(setting) => <SettingForm orgId={orgId} setting={setting} mayChange={mayChange} />}
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

const shownField = (name: string): ShownField =>
  settingGroups.flatMap(({ fields }) => fields).find((field) => nameOf(field) === name) ?? { label: name }

interface SettingFormProps {
  readonly orgId: string
  readonly setting: Setting
  readonly mayChange: boolean
}

function SettingForm({ orgId, setting, mayChange }: SettingFormProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const { edits, texts, change, textsOver, forget } = useEdits(textsOf(setting), shownField)
  const mutation = useMutation({
    async mutationFn(sent: typeof edits) {
      const present = await queries.fetchQuery({ ...settingQuery(api, orgId), staleTime: 0 })
      const body = changeOf(textsOver(sent, textsOf(present)), present)
      return answerOf(api.PUT('/api/v1/orgs/{org_id}/setting', { params: { path: { org_id: orgId } }, body }))
    },
    onSuccess(saved, sent) {
      queries.setQueryData(['setting', orgId], saved)
      forget(sent, textsOf(saved))
    },
  })
  const refused = mutation.error === null ? null : fieldOfPath(fieldPathIn(mutation.error.message))
  const form = useFocusOnRefusal(mutation.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate(edits)
  }
  return (
    <form ref={form} onSubmit={submit}>
      <fieldset className="plain" disabled={!mayChange}>
        {settingGroups.map(({ title, fields }) => (
          <Panel key={title} title={title}>
            <div className="wizard-fields">
              {fields
                .filter((field) => isEditable(field, setting))
                .map((field) => (
                  <FieldInput
                    key={nameOf(field)}
                    field={field}
                    text={texts[nameOf(field)] ?? ''}
                    error={refused === nameOf(field) ? (mutation.error?.message ?? null) : null}
                    onChange={(text) => change(nameOf(field), text)}
                  />
                ))}
            </div>
            {fields.some((field) => !isEditable(field, setting)) && (
              <p>Further fields can be changed only by the API, because secrets are hidden from everyone.</p>
            )}
          </Panel>
        ))}
      </fieldset>
      {refused === null && <ProblemNote problem={mutation.error} />}
      {mutation.isSuccess && Object.keys(edits).length === 0 && <p role="status">The settings are saved.</p>}
      {mayChange && (
        <Button type="submit" size="sm" isBusy={mutation.isPending}>
          Save the settings
        </Button>
      )}
    </form>
  )
}

interface Typed {
  readonly currentTarget: { readonly value: string }
}

interface FieldInputProps {
  readonly field: SettingField
  readonly text: string
  readonly error: string | null
  readonly onChange: (text: string) => void
}

function FieldInput({ field: { label, description, kind, choices }, text, error, onChange }: FieldInputProps) {
  if (kind === 'switch')
    return (
      <div className="choice-list" data-refused={error === null ? undefined : true}>
        <label>
          <input
            type="checkbox"
            checked={text === 'true'}
            onChange={({ currentTarget: { checked } }) => onChange(checked ? 'true' : '')}
          />
          {label}
        </label>
        {error !== null && (
          <p className="problem" role="alert">
            {error}
          </p>
        )}
      </div>
    )
  const shared = { label, value: text, error, ...(description !== undefined && { description }) }
  const typed = { ...shared, onChange: ({ currentTarget: { value } }: Typed) => onChange(value) }
  if (kind === 'choice') return <NativeSelect {...typed} data={[...(choices ?? [])]} />
  if (kind === 'windows' || kind === 'versions') return <Textarea {...typed} rows={3} />
  return <TextInput {...typed} {...(kind === 'number' && { inputMode: 'numeric' })} />
}
