// Light, dark, or as the system is.

const place = "sluice.theme";
export const themes = ["auto", "light", "dark"];
export const theme = () => localStorage.getItem(place) ?? "auto";

export function apply(wanted = theme()) {
  if (wanted === "auto") localStorage.removeItem(place);
  else localStorage.setItem(place, wanted);
  document.documentElement.dataset.theme = wanted;
}
