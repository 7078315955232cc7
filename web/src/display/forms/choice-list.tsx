import { useId } from 'react'

export interface Choice {
  readonly value: string
  readonly label: string
}

interface ChoiceListProps {
  readonly label: string
  /** The label of the choice of everything, such as "All sites". */
  readonly all: string
  readonly choices: readonly Choice[]
  /** Undefined: all. */
  readonly chosen: readonly string[] | undefined
  readonly error: string | null
  readonly onChange: (chosen: readonly string[] | undefined) => void
}

/** All of something, or some of it. */
export function ChoiceList({ label, all, choices, chosen, error, onChange }: ChoiceListProps) {
  const errorId = useId()
  return (
    <fieldset className="choice-list" {...(error !== null && { 'aria-describedby': errorId })}>
      <legend>{label}</legend>
      <label>
        <input
          type="checkbox"
          checked={chosen === undefined}
          onChange={({ currentTarget: { checked } }) => onChange(checked ? undefined : [])}
        />
        {all}
      </label>
      {chosen !== undefined && (
        <div className="choices">
          {choices.map((choice) => (
            <label key={choice.value}>
              <input
                type="checkbox"
                checked={chosen.includes(choice.value)}
                onChange={({ currentTarget: { checked } }) =>
                  onChange(checked ? [...chosen, choice.value] : chosen.filter((value) => value !== choice.value))
                }
              />
              {choice.label}
            </label>
          ))}
        </div>
      )}
      {error !== null && (
        <p className="field-problem" id={errorId} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}
