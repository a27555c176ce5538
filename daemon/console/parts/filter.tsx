import { useQuery } from './page.tsx'

interface FilterProps {
  /** The parameter of the address that has the chosen value. */
  readonly name: string
  readonly label: string
  /** The text of the first option, which leaves the parameter out. */
  readonly any: string
  /** The other values, each with its text if that is a different one. */
  readonly options: readonly (string | readonly [value: string, text: string])[]
  /** The last line. It cannot be chosen. */
  readonly note?: string | undefined
  /** Default: what the address has. */
  readonly value?: string | undefined
  /** A parameter that is left out when another value is chosen. */
  readonly clears?: string
}

/** A choice that filters the listing of the page. */
export function Filter({ name, label, any, options, note, clears, ...given }: FilterProps) {
  const [query, change] = useQuery()
  return (
    <select
      aria-label={label}
      value={('value' in given ? given.value : query[name]) ?? ''}
      onChange={(event) => change({ ...(clears && { [clears]: undefined }), [name]: event.currentTarget.value })}
    >
      <option value="">{any}</option>
      {options.map((option) => {
        const [value, text] = typeof option === 'string' ? [option, option] : option
        return (
          <option key={value} value={value}>
            {text}
          </option>
        )
      })}
      {note && <option disabled>{note}</option>}
    </select>
  )
}
