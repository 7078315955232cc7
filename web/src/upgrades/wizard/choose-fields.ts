import type { LoadFailure } from '../../display/layout/load-failure.ts'
import type { Member } from './use-members.ts'
import type { WizardFieldsProps } from './strategy-panel.tsx'

/** The properties of the fields that choose what is upgraded. */
export interface ChooseFieldsProps extends WizardFieldsProps {
  readonly orgId: string
  /** The routers or appliances that an upgrade may name. */
  readonly members: {
    /** Undefined until they are read. */
    readonly choices: readonly Member[] | undefined
    readonly failure: LoadFailure | null
  }
}
