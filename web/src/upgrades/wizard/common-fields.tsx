import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { type Hours, isOne, mayInclude, settle, sitesOf } from './draft.ts'
import type { WizardFieldsProps } from './strategy-panel.tsx'

/** What upgrades of all kinds have: a name, what else they upgrade, and within which hours. */
export function CommonFields({ draft, errorOf, onChange }: WizardFieldsProps) {
  const { name = '', takeover, inclusion, hours, windows = '' } = settle(draft)
  const windowsError = errorOf('maintenance_windows')
  return (
    <>
      <TextInput
        label="Name"
        value={name}
        maxLength={100}
        error={errorOf('name')}
        onChange={({ currentTarget: { value } }) => onChange({ name: value === '' ? undefined : value })}
      />
      <NativeSelect
        label={isOne(draft) ? 'In another upgrade' : 'In other upgrades'}
        value={takeover ?? ''}
        data={[
          { value: '', label: isOne(draft) ? 'Stays there' : 'Stay there' },
          { value: 'waiting', label: 'Taken over unless begun' },
        ]}
        error={errorOf('supersede')}
        onChange={({ currentTarget: { value } }) => onChange({ takeover: value === 'waiting' ? value : undefined })}
      />
      {mayInclude(draft) && (
        <NativeSelect
          label="Joining later"
          value={inclusion ?? ''}
          data={[
            { value: '', label: 'Not taken in' },
            { value: 'later', label: 'Taken in until it ends' },
          ]}
          error={errorOf('include_new')}
          onChange={({ currentTarget: { value } }) => onChange({ inclusion: value === 'later' ? value : undefined })}
        />
      )}
      <NativeSelect
        label="Maintenance windows"
        value={hours ?? ''}
        data={[
          { value: '', label: `Those of ${sitesOf(draft)}` },
          { value: 'own', label: 'Of this upgrade' },
          { value: 'any', label: 'None: at any time' },
        ]}
        error={hours === 'own' ? null : windowsError}
        onChange={({ currentTarget: { value } }) => onChange({ hours: value === '' ? undefined : (value as Hours) })}
      />
      {hours === 'own' && (
        <Textarea
          label="Windows"
          description={`One per line, such as "sat sun 22:00-04:00", in the time of ${sitesOf(draft)}`}
          rows={2}
          value={windows}
          error={windowsError}
          onChange={({ currentTarget: { value } }) => onChange({ windows: value === '' ? undefined : value })}
        />
      )}
    </>
  )
}
