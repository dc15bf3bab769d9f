// What Vite and webpack need: nothing.

import init from "stepwell";

export const load = () => init();
