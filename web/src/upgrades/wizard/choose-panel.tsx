import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { type DeviceType, deviceTypes } from '../../devices/device.ts'
import { capital } from '../../display/texts/capital.ts'
import { useValues } from '../../devices/use-values.ts'
import { ChoiceList } from '../../display/forms/choice-list.tsx'
import { LoadNote } from '../../display/layout/notices.tsx'
import { failureOf } from '../../display/layout/load-failure.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { siteChoices, useSites } from '../../orgs/sites.ts'
import { type UpgradeKind, kinds, upgradeKinds } from '../overview.ts'
import { ApplianceFields } from './appliance-fields.tsx'
import type { ChooseFieldsProps } from './choose-fields.ts'
import { CommonFields } from './common-fields.tsx'
import { type Part, isOne, isSingle, settle, sitesOf } from './draft.ts'
import { EndField } from './end-field.tsx'
import { useDeviceCatalog, useRouterCatalog } from './use-catalog.ts'
import { VersionSelect } from './version-select.tsx'
import { InstantInput } from './instant-input.tsx'

const fieldsOf = {
  device: DeviceFields,
  ssr: RouterFields,
  mxedge: ApplianceFields,
} as const satisfies Record<UpgradeKind, unknown>

/** What is upgraded, to which version, and when. */
export function ChoosePanel(props: ChooseFieldsProps) {
  const { kind } = settle(props.draft)
  const Fields = fieldsOf[kind]
  return (
    <Panel title={`1. ${kinds[kind].text} and version`}>
      <div className="wizard-fields">
        <NativeSelect
          label="Upgrade of"
          value={kind}
          data={upgradeKinds.map((value) => ({ value, label: kinds[value].text }))}
          onChange={({ currentTarget: { value } }) =>
            // Another kind has other versions and other things to choose from, and its start may be on other clocks.
            props.onChange({ kind: value as UpgradeKind, ids: undefined, version: undefined, start: undefined })
          }
        />
        <Fields {...props} />
        <CommonFields {...props} />
        {kind === 'device' && <RuleField {...props} />}
      </div>
    </Panel>
  )
}

function DeviceFields({ orgId, ...fields }: ChooseFieldsProps) {
  const { draft, errorOf, onChange } = fields
  const { version, type, start = '' } = settle(draft)
  const catalog = useDeviceCatalog(orgId, type)
  const models = useValues(orgId, 'model', draft.siteId)
  const sites = useSites(orgId)
  return (
    <>
      {draft.siteId === undefined && (
        <ChoiceList
          label="Sites"
          all="All sites"
          loaded={{ choices: sites.data && siteChoices(sites.data), failure: failureOf([sites]) }}
          missing="not among these sites"
          chosen={draft.sites}
          error={errorOf('site_ids', 'all_sites')}
          onChange={(chosen) => onChange({ sites: chosen })}
        />
      )}
      <ChoiceList
        label="Models"
        all="All models"
        loaded={models}
        missing="not among these models"
        chosen={draft.models}
        error={errorOf('models')}
        onChange={(chosen) => onChange({ models: chosen })}
      />
      <NativeSelect
        label="Type"
        value={type ?? ''}
        data={[
          { value: '', label: 'All types' },
          ...Object.entries(deviceTypes).map(([value, { many }]) => ({ value, label: capital(many) })),
        ]}
        error={errorOf('device_type')}
        onChange={({ currentTarget: { value } }) =>
          onChange({ type: value === '' ? undefined : (value as DeviceType) })
        }
      />
      <VersionSelect
        isWide
        label="Version"
        version={version}
        loaded={catalog}
        error={errorOf('versions', 'version')}
        onChange={(chosen) => onChange({ version: chosen })}
      />
      <TextInput
        type="datetime-local"
        label="Start"
        description={`In the time zone of ${sitesOf(draft)}; empty: immediately`}
        value={start}
        error={errorOf('start_datetime')}
        onChange={({ currentTarget: { value } }) => onChange({ start: value })}
      />
      <EndField {...fields} />
    </>
  )
}

/** Which of the chosen devices are upgraded. */
function RuleField({ draft, errorOf, onChange }: ChooseFieldsProps) {
  return (
    <Textarea
      className="wide-field"
      label="Rules"
      description="Only devices that one of these lines fits, such as match_name[0:3]=lab, match_model=EAP102"
      rows={2}
      value={draft.rules ?? ''}
      error={errorOf('rules')}
      onChange={({ currentTarget: { value } }) => onChange({ rules: value === '' ? undefined : value })}
    />
  )
}

function RouterFields({ orgId, members, ...fields }: ChooseFieldsProps) {
  const { draft, errorOf, onChange } = fields
  const { version, part, start, reboot } = settle(draft)
  const single = isSingle(draft)
    ? (members.choices?.find(({ value }) => value === draft.ids?.[0]) ?? members.choices?.[0])
    : undefined
  const catalog = useRouterCatalog(orgId, draft.siteId, single?.model)
  return (
    <>
      {isSingle(draft) ? (
        <RouterSelect chosen={single?.value} members={members} onChange={(id) => onChange({ ids: [id] })} />
      ) : (
        <ChoiceList
          label="Routers"
          all="All routers"
          loaded={members}
          missing="no longer in a site"
          chosen={draft.ids}
          error={errorOf('device_ids')}
          onChange={(ids) => onChange({ ids })}
        />
      )}
      <VersionSelect
        isWide
        label="Version"
        version={version}
        loaded={catalog}
        error={errorOf('version', 'channel')}
        onChange={(chosen) => onChange({ version: chosen })}
      />
      <NativeSelect
        label="Steps"
        value={part ?? ''}
        data={[
          { value: '', label: 'Download and reboot' },
          { value: 'download', label: 'Only download' },
          { value: 'reboot', label: 'Only reboot' },
        ]}
        error={part === undefined ? null : errorOf(part === 'reboot' ? 'start_time' : 'reboot_at')}
        onChange={({ currentTarget: { value } }) => onChange({ part: value === '' ? undefined : (value as Part) })}
      />
      {part !== 'reboot' && (
        <InstantInput
          label="Start"
          empty="immediately"
          value={start}
          error={errorOf('start_time')}
          onChange={(time) => onChange({ start: time })}
        />
      )}
      {part !== 'download' && (
        <InstantInput
          label="Reboot"
          empty={part === 'reboot' ? 'immediately' : `as soon as ${isOne(draft) ? 'the' : 'a'} router has downloaded`}
          value={reboot}
          error={errorOf('reboot_at')}
          onChange={(time) => onChange({ reboot: time })}
        />
      )}
      <EndField {...fields} />
    </>
  )
}

interface RouterSelectProps {
  readonly chosen: string | undefined
  readonly members: ChooseFieldsProps['members']
  readonly onChange: (id: string) => void
}

/** The one router that a site upgrades at a time. */
function RouterSelect({ chosen = '', members: { choices, failure }, onChange }: RouterSelectProps) {
  const isNone = choices?.length === 0
  return (
    <div className="wide-field">
      <NativeSelect
        label="Router"
        value={chosen}
        data={
          isNone
            ? [{ value: '', label: 'No SSR router at this site' }]
            : [...(choices ?? [])].map(({ value, label }) => ({ value, label }))
        }
        disabled={isNone}
        onChange={({ currentTarget: { value } }) => onChange(value)}
      />
      <LoadNote what="The routers" failure={failure} />
    </div>
  )
}
