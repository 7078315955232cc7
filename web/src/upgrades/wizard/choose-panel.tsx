import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { type DeviceType, capital, deviceTypes } from '../../devices/device.ts'
import { useValues } from '../../devices/use-values.ts'
import { ChoiceList } from '../../display/forms/choice-list.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import type { Site } from '../../orgs/sites.ts'
import type { WizardFieldsProps } from './strategy-panel.tsx'
import { useCatalog } from './use-catalog.ts'
import { settle } from './draft.ts'

interface ChoosePanelProps extends WizardFieldsProps {
  readonly orgId: string
  readonly sites: ReadonlyMap<string, Site> | undefined
}

/** The selection of devices, their version, and the time. */
export function ChoosePanel({ orgId, sites, draft, errorOf, onChange }: ChoosePanelProps) {
  const { version, type, start = '' } = settle(draft)
  const catalog = useCatalog(orgId, type)
  const models = useValues(orgId, 'model')
  const isKnown = catalog.some(({ value }) => value === version)
  return (
    <Panel title="1. Devices and version">
      <div className="wizard-fields">
        <ChoiceList
          label="Sites"
          all="All sites"
          choices={[...(sites?.values() ?? [])].map(({ id, name }) => ({ value: id, label: name }))}
          chosen={draft.sites}
          error={errorOf('site_ids', 'all_sites')}
          onChange={(chosen) => onChange({ sites: chosen })}
        />
        <ChoiceList
          label="Models"
          all="All models"
          choices={models}
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
        <NativeSelect
          label="Version"
          value={version}
          data={isKnown ? [...catalog] : [...catalog, { value: version, label: version }]}
          error={errorOf('versions', 'version')}
          onChange={({ currentTarget: { value } }) => onChange({ version: value })}
        />
        <TextInput
          type="datetime-local"
          label="Start"
          description="In the time zone of each site; empty: immediately"
          value={start}
          error={errorOf('start_datetime')}
          onChange={({ currentTarget: { value } }) => onChange({ start: value })}
        />
        <Textarea
          label="Rules"
          description="Only devices that one of these lines fits, such as match_name[0:3]=lab, match_model=EAP102"
          rows={2}
          value={draft.rules ?? ''}
          error={errorOf('rules')}
          onChange={({ currentTarget: { value } }) => onChange({ rules: value === '' ? undefined : value })}
        />
      </div>
    </Panel>
  )
}
