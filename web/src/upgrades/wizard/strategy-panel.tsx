import { NativeSelect, TextInput } from '@mantine/core'
import { Panel } from '../../display/layout/panel.tsx'
import { kinds } from '../overview.ts'
import {
  type Approver,
  type Begin,
  type Draft,
  type Gate,
  type SettledDraft,
  type Strategy,
  forms,
  isOne,
  peopleCounts,
  settle,
} from './draft.ts'
import { PhaseDrawing } from './phase-drawing.tsx'
import { gatesIn, phasesBetween } from './request.ts'
import { InstantInput } from './instant-input.tsx'

/** A change of a draft; undefined removes a field. */
export type DraftChange = { readonly [Name in keyof Draft]?: Draft[Name] | undefined }

export interface WizardFieldsProps {
  readonly draft: Draft
  /** Returns the server's message about one of the fields of the request; null if there is none. */
  readonly errorOf: (...fields: readonly string[]) => string | null
  readonly onChange: (change: DraftChange) => void
}

interface StrategyWords {
  readonly label: string
  readonly text: (draft: SettledDraft) => string
}

const words: Readonly<Record<Strategy, StrategyWords>> = {
  canary: {
    label: 'Canary',
    text: ({ kind }) =>
      `A few ${kinds[kind].unit}s first, then ever larger shares. A phase opens once the one before has gone well.`,
  },
  serial: {
    label: 'Serial',
    text: ({ kind, siteId }) =>
      `One ${kinds[kind].unit} after the other${kind === 'mxedge' || siteId !== undefined ? '' : ' at each site'}.`,
  },
  rrm: {
    label: 'By radio neighborhood',
    text: () => 'Access points in growing batches, never two radio neighbors at once: clients always find another one.',
  },
  big_bang: { label: 'Big bang', text: ({ kind }) => `All ${kinds[kind].unit}s at once. No failure stops it.` },
}

/** The strategy of the upgrade, with a drawing of it. */
export function StrategyPanel({ draft, errorOf, onChange }: WizardFieldsProps) {
  const settled = settle(draft)
  const { kind, strategy } = settled
  if (isOne(draft))
    return (
      <Panel title="2. Strategy">
        <p className="plan-line muted">One {kinds[kind].unit} has one phase.</p>
        <div className="wizard-fields">
          <Approvals draft={draft} errorOf={errorOf} onChange={onChange} />
        </div>
      </Panel>
    )
  return (
    <Panel title="2. Strategy">
      <div className="wizard-strategy">
        <div className="wizard-fields">
          <NativeSelect
            label="Strategy"
            value={strategy}
            data={forms[kind].strategies.map((value) => ({ value, label: words[value].label }))}
            error={errorOf('reboot_strategy', 'strategy')}
            onChange={({ currentTarget: { value } }) => onChange({ strategy: value as Strategy })}
          />
          <Parameters draft={draft} errorOf={errorOf} onChange={onChange} />
          <Approvals draft={draft} errorOf={errorOf} onChange={onChange} />
        </div>
        <div>
          <p className="muted">{words[strategy].text(settled)}</p>
          <PhaseDrawing draft={draft} />
        </div>
      </div>
    </Panel>
  )
}

function Parameters({ draft, errorOf, onChange }: WizardFieldsProps) {
  const { kind, strategy, phases, failures, first, most, order } = settle(draft)
  if (strategy === 'big_bang') return null
  const text = (label: string, field: string, name: 'phases' | 'failures' | 'first' | 'most', value: string) => (
    <TextInput
      label={label}
      value={value}
      error={errorOf(field)}
      onChange={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
    />
  )
  return (
    <>
      {strategy === 'canary' && text('Upgraded after each phase (%)', 'canary_phases', 'phases', phases)}
      {strategy === 'rrm' && text('First batch (%)', 'rrm_first_batch_percentage', 'first', first)}
      {strategy === 'rrm' && text('Largest batch (%)', 'rrm_max_batch_percentage', 'most', most)}
      {strategy === 'rrm' && (
        <NativeSelect
          label="Order"
          value={order}
          data={[
            { value: 'fringe_to_center', label: 'From the fringe to the center' },
            { value: 'center_to_fringe', label: 'From the center to the fringe' },
          ]}
          error={errorOf('rrm_node_order')}
          onChange={({ currentTarget: { value } }) => onChange({ order: value as typeof order })}
        />
      )}
      {forms[kind].hasFailureLimit && text('Stops after failures (%)', 'max_failure_percentage', 'failures', failures)}
    </>
  )
}

/** The approvals that the upgrade waits for. */
function Approvals({ draft, errorOf, onChange }: WizardFieldsProps) {
  const { strategy, begin, gate, approver, people, soak } = settle(draft)
  const hasGate = begin !== undefined || (strategy === 'canary' && gate !== undefined)
  return (
    <>
      <NativeSelect
        label="Begins"
        value={begin ?? ''}
        data={[
          { value: '', label: 'Without an approval' },
          { value: 'approved', label: 'After an approval' },
        ]}
        error={errorOf('phase_gates.minutes', 'phase_gates.not_before') === null ? errorOf('phase_gates') : null}
        onChange={({ currentTarget: { value } }) => onChange({ begin: value === '' ? undefined : (value as Begin) })}
      />
      {strategy === 'canary' && (
        <NativeSelect
          label="Approval"
          value={gate ?? ''}
          data={[
            { value: '', label: 'None' },
            { value: 'first', label: 'After the first phase' },
            { value: 'each', label: 'After each phase' },
          ]}
          onChange={({ currentTarget: { value } }) => onChange({ gate: value === '' ? undefined : (value as Gate) })}
        />
      )}
      {hasGate && (
        <NativeSelect
          label="Approved by"
          value={approver ?? ''}
          data={[
            { value: '', label: 'Anyone who may upgrade' },
            { value: 'another', label: 'A person other than me' },
          ]}
          onChange={({ currentTarget: { value } }) =>
            onChange({ approver: value === '' ? undefined : (value as Approver) })
          }
        />
      )}
      {hasGate && (
        <NativeSelect
          label="People who must agree"
          value={people ?? '1'}
          data={['1', ...peopleCounts]}
          onChange={({ currentTarget: { value } }) =>
            onChange({ people: peopleCounts.find((count) => count === value) })
          }
        />
      )}
      {strategy === 'canary' && (
        <TextInput
          label="Wait between phases (minutes)"
          description="Where the next phase needs no approval"
          value={soak ?? ''}
          error={errorOf('phase_gates.minutes')}
          onChange={({ currentTarget: { value } }) => onChange({ soak: value === '' ? undefined : value })}
        />
      )}
      {strategy === 'canary' && <PhaseTimes draft={draft} errorOf={errorOf} onChange={onChange} />}
    </>
  )
}

/** When each phase after the first one begins at the earliest. */
function PhaseTimes({ draft, errorOf, onChange }: WizardFieldsProps) {
  const { times = [], ...settled } = settle(draft)
  const gates = gatesIn(draft)
  const timed = phasesBetween(settled)
  return timed.map((phase) => (
    <InstantInput
      key={phase}
      label={`Phase ${phase + 1} begins not before`}
      empty="as soon as it may"
      value={times[phase - 1]}
      error={errorOf(`phase_gates.${gates.findIndex((gate) => gate.phase === phase)}.not_before`)}
      onChange={(value = '') => {
        const changed = timed.map((one) => (one === phase ? value : (times[one - 1] ?? '')))
        onChange({ times: changed.every((time) => time === '') ? undefined : changed })
      }}
    />
  ))
}
