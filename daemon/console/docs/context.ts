import { createContext } from 'preact'
import type { Description } from './description.ts'

/** The description that the page shows. */
export const Described = createContext<Description>({
  info: { title: '', version: '' },
  tags: [],
  paths: {},
  components: {},
})
