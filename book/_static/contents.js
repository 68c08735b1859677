// The contents of a page follow the reader, also over long sections; the theme's own rule waits for a heading to pass by.
{
  const contents = document.querySelector("#pst-page-toc-nav");
  const links = contents ? [...contents.querySelectorAll("a[href^='#']")] : [];
  const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  if (links.length && places.every(Boolean)) {
    contents.id = "page-contents"; // this turns the theme's rule off
    let waiting = false;
    const follow = () => {
      waiting = false;
      const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
      const here = atEnd ? links.length - 1 : places.findLastIndex((place) => place.getBoundingClientRect().top < innerHeight * 0.3);
      links.forEach((link, number) => {
        link.classList.toggle("active", number === here);
        if (number === here) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
      for (const entry of contents.querySelectorAll(".toc-entry")) entry.classList.toggle("active", entry.contains(links[here] ?? null));
      const bar = contents.closest(".bd-sidebar-secondary");
      if (here >= 0 && bar && bar.scrollHeight > bar.clientHeight) {
        bar.scrollTop += links[here].getBoundingClientRect().top - bar.getBoundingClientRect().top - bar.clientHeight / 2;
      }
    };
    const soon = () => {
      if (!waiting) requestAnimationFrame(follow);
      waiting = true;
    };
    for (const event of ["scroll", "resize", "load"]) addEventListener(event, soon, { passive: true });
    follow();
  }
}
