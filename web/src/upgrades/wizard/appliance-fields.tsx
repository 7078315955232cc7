import { NativeSelect, TextInput } from '@mantine/core'
import { ChoiceList } from '../../display/forms/choice-list.tsx'
import { LoadNote } from '../../display/layout/notices.tsx'
import type { ChooseFieldsProps } from './choose-fields.ts'
import { type Channel, type Downgrades, channels, settle } from './draft.ts'
import { EndField } from './end-field.tsx'
import { present, usePackages } from './use-packages.ts'
import { VersionSelect } from './version-select.tsx'
import { InstantInput } from './instant-input.tsx'

/** The selection of appliances, the versions of their services or their distribution, and the time. */
export function ApplianceFields(props: ChooseFieldsProps) {
  const { members, draft, errorOf, onChange } = props
  const { distro = '', start } = settle(draft)
  return (
    <>
      <ChoiceList
        label="Appliances"
        all="All appliances"
        loaded={members}
        missing="no longer here"
        chosen={draft.ids}
        error={errorOf('mxedge_ids')}
        onChange={(ids) => onChange({ ids })}
      />
      {distro === '' && <ServiceFields {...props} />}
      <TextInput
        label="Distribution"
        description="The codename of a release, or next, instead of services; empty: none"
        value={distro}
        error={errorOf('distro')}
        onChange={({ currentTarget: { value } }) => onChange({ distro: value === '' ? undefined : value })}
      />
      <InstantInput
        label="Start"
        empty="immediately"
        value={start}
        error={errorOf('start_time')}
        onChange={(time) => onChange({ start: time })}
      />
      <EndField {...props} />
    </>
  )
}

/** A service of which the channel has no package can't be upgraded, so it is shown only if the draft names it. */
function ServiceFields({ orgId, draft, errorOf, onChange }: ChooseFieldsProps) {
  const { channel, services = {}, downgrades } = settle(draft)
  const packages = usePackages(orgId, channel)
  const names = [...new Set([...packages.services.keys(), ...Object.keys(services)])].toSorted()
  const choose = (service: string, version: string): void => {
    const chosen = Object.entries({ ...services, [service]: version }).filter(([, wanted]) => wanted !== present.value)
    onChange({ services: chosen.length === 0 ? undefined : Object.fromEntries(chosen) })
  }
  return (
    <>
      <NativeSelect
        label="Channel"
        value={channel}
        data={[...channels]}
        error={errorOf('channel')}
        onChange={({ currentTarget: { value } }) => onChange({ channel: value as Channel })}
      />
      <LoadNote what="The services of this channel" failure={packages.failure} />
      {names.map((service) => (
        <VersionSelect
          key={service}
          label={service}
          version={services[service] ?? present.value}
          loaded={{ choices: packages.services.get(service) ?? [present], failure: null }}
          error={errorOf(`versions.${service}`)}
          onChange={(version) => choose(service, version)}
        />
      ))}
      <NativeSelect
        label="Newer versions"
        value={downgrades ?? ''}
        data={[
          { value: '', label: 'Are kept' },
          { value: 'allowed', label: 'Are replaced' },
        ]}
        error={errorOf('allow_downgrades')}
        onChange={({ currentTarget: { value } }) =>
          onChange({ downgrades: value === '' ? undefined : (value as Downgrades) })
        }
      />
    </>
  )
}
