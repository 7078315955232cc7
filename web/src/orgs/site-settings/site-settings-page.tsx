import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { type Api, answerOf, useServer } from '../../api/client.ts'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { MissingSite } from '../missing-site.tsx'
import { nameOf, settingFields, textsOf } from '../setting-fields.ts'
import { SettingForm, SettingInput, useSettingEdits } from '../setting-form.tsx'
import { settingQuery } from '../setting-query.ts'
import { useSites } from '../sites.ts'
import {
  type SettingUnit,
  type SiteSetting,
  inheritedBy,
  isEditable,
  ownNameOf,
  reliedOnBy,
  siteChangeOf,
  sitePanels,
  siteUnits,
  textsOfSite,
} from './site-setting.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/sites/$siteId/settings')

interface Rights {
  readonly mayReadOrg: boolean
  readonly mayWriteOrg: boolean
}

function siteSettingQuery(
  api: Api,
  { orgId, siteId }: { readonly orgId: string; readonly siteId: string },
  rights: Rights,
) {
  const { mayReadOrg, mayWriteOrg } = rights
  const params = { path: { site_id: siteId } }
  return queryOptions({
    queryKey: ['site setting', siteId, mayReadOrg, mayWriteOrg],
    queryFn: async ({ client }): Promise<SiteSetting> => {
      const [own, effective, ofOrg] = await Promise.all([
        answerOf(api.GET('/api/v1/sites/{site_id}/setting', { params })),
        answerOf(api.GET('/api/v1/sites/{site_id}/setting/derived', { params })),
        mayReadOrg ? client.fetchQuery({ ...settingQuery(api, orgId), staleTime: 0 }) : undefined,
      ])
      return { own, effective, ofOrg, mayWriteOrg }
    },
  })
}

/** The settings that apply at a site: those of the organization, and its own instead of them. */
export function SiteSettingsPage() {
  const { orgId, siteId } = route.useParams()
  const { api } = useServer()
  const site = useSites(orgId).data?.get(siteId)
  const rights = { mayReadOrg: useMay('read', { orgId }), mayWriteOrg: useMay('write', { orgId }) }
  const mayChange = useMay('write', { orgId, siteId })
  const query = useQuery(siteSettingQuery(api, { orgId, siteId }, rights))
  return (
    <>
      <PageTitle
        title={`Settings of ${site?.name ?? 'a site'}`}
        call={`/sites/${siteId}/setting/derived`}
        above={
          <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId }}>
            {site?.name ?? 'Site'}
          </Link>
        }
      >
        {!mayChange && <span>Those who may change the site can change them</span>}
      </PageTitle>
      <QueryView query={query} rows={10} missing={<MissingSite orgId={orgId} />}>
        {(setting) => (
          <SiteSettingForm orgId={orgId} siteId={siteId} setting={setting} rights={rights} mayChange={mayChange} />
        )}
      </QueryView>
    </>
  )
}

interface SiteSettingFormProps {
  readonly orgId: string
  readonly siteId: string
  readonly setting: SiteSetting
  readonly rights: Rights
  readonly mayChange: boolean
}

type Form = ReturnType<typeof useSettingEdits<SiteSetting>>

function SiteSettingForm({ orgId, siteId, setting, rights, mayChange }: SiteSettingFormProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const readAgain = () => queries.fetchQuery({ ...siteSettingQuery(api, { orgId, siteId }, rights), staleTime: 0 })
  const form = useSettingEdits({
    loaded: setting,
    textsOf: textsOfSite,
    fieldOf: shownField,
    reliedOn: (name) => reliedOnBy(setting, name),
    readAgain,
    async save(texts, present) {
      const body = siteChangeOf(texts, present)
      await answerOf(api.PUT('/api/v1/sites/{site_id}/setting', { params: { path: { site_id: siteId } }, body }))
      return readAgain()
    },
  })
  return (
    <SettingForm form={form} mayChange={mayChange}>
      {sitePanels.map(({ title, units }) => (
        <Panel key={title} title={title}>
          <div className="wizard-fields">
            {units
              .filter((unit) => isEditable(setting, unit))
              .map((unit) => (
                <UnitFields key={unit.key} form={form} setting={setting} unit={unit} hasTitle={unit.title !== title} />
              ))}
          </div>
          {units.some((unit) => !isEditable(setting, unit)) && (
            <p className="plan-line">
              Further fields can be changed only by the API, because secrets beside them may be hidden from you.
            </p>
          )}
        </Panel>
      ))}
    </SettingForm>
  )
}

function shownField(name: string) {
  const unit = siteUnits.find((one) => ownNameOf(one) === name)
  if (unit !== undefined) return { label: `${unit.title}: ${OWN}`, kind: 'switch' }
  return settingFields.find((field) => nameOf(field) === name) ?? { label: name }
}

const OWN = 'Own value of this site'

interface UnitFieldsProps {
  readonly form: Form
  readonly setting: SiteSetting
  readonly unit: SettingUnit
  /** True if the fields have a title beside that of the panel. */
  readonly hasTitle: boolean
}

/** The fields of a key: those of the site, or what it inherits, which can't be changed here. */
function UnitFields({ form, setting, unit, hasTitle }: UnitFieldsProps) {
  const { title, fields } = unit
  const isOwn = form.texts[ownNameOf(unit)] === 'true'
  const inherited = inheritedBy(setting, unit)
  const shown = isOwn || inherited === undefined ? form : { ...form, texts: textsOf(inherited) }
  const isHidden = !isOwn && inherited === undefined
  const choice = (
    <div className="choice-list setting-own">
      <label>
        <input
          type="checkbox"
          checked={isOwn}
          onChange={({ currentTarget: { checked } }) => form.change(ownNameOf(unit), checked ? 'true' : '')}
        />
        {OWN}
      </label>
      {!isOwn && <span className="muted">{inheritanceText(inherited, unit)}</span>}
    </div>
  )
  if (fields.length === 1)
    return (
      <fieldset className="setting-unit" aria-label={title}>
        <UnitInputs form={shown} unit={unit} isHidden={isHidden} isDisabled={!isOwn} />
        {choice}
      </fieldset>
    )
  return (
    <fieldset className="setting-unit" aria-label={title} data-several>
      {hasTitle && <h3>{title}</h3>}
      {choice}
      <UnitInputs form={shown} unit={unit} isHidden={isHidden} isDisabled={!isOwn} />
    </fieldset>
  )
}

interface UnitInputsProps {
  readonly form: Form
  readonly unit: SettingUnit
  /** True while nobody knows what they would contain. */
  readonly isHidden: boolean
  readonly isDisabled: boolean
}

function UnitInputs({ form, unit: { fields }, isHidden, isDisabled }: UnitInputsProps) {
  if (isHidden) return <p className="muted">{fields.map(({ label }) => label).join(', ')}</p>
  return (
    <fieldset className="plain setting-fields" disabled={isDisabled}>
      {fields.map((field) => (
        <SettingInput key={nameOf(field)} form={form} field={field} />
      ))}
    </fieldset>
  )
}

function inheritanceText(inherited: SiteSetting['ofOrg'], { key }: SettingUnit): string {
  if (inherited === undefined) return 'That of the organization applies once this is saved'
  return (inherited[key] ?? null) === null ? 'The organization has none' : 'From the organization'
}
